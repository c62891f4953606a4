package zookeeper

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/simba-go/simba/internal/servers"
)

// issuer makes certificates in a folder.
type issuer struct {
	tb     testing.TB
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

func newIssuer(tb testing.TB) *issuer {
	tb.Helper()
	i := &issuer{tb: tb, dir: tb.TempDir()}
	i.cert, i.key = i.issue("ca")
	return i
}

// issue writes NAME-cert.pem, NAME-key.pem, and NAME.pem with both. The first one signs itself.
func (i *issuer) issue(name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	i.tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		i.tb.Fatal(err)
	}
	i.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(i.serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true, IsCA: i.cert == nil,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if i.cert == nil {
		template.KeyUsage, template.ExtKeyUsage = x509.KeyUsageCertSign, nil
		i.cert, i.key = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, i.cert, &key.PublicKey, i.key)
	if err != nil {
		i.tb.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		i.tb.Fatal(err)
	}
	certText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	for ending, text := range map[string][]byte{
		"-cert.pem": certText, "-key.pem": keyText, ".pem": bytes.Join([][]byte{keyText, certText}, nil),
	} {
		if err := os.WriteFile(i.path(name+ending), text, 0o600); err != nil {
			i.tb.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		i.tb.Fatal(err)
	}
	return cert, key
}

func (i *issuer) path(name string) string { return filepath.Join(i.dir, name) }

// A real server that speaks TLS, and wants to know who we are.
func TestTLS(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	i.issue("server")
	i.issue("client")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secure := listener.Addr().(*net.TCPAddr)
	listener.Close()
	server, err := servers.ZooKeeper(
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		fmt.Sprintf("secureClientPort=%d", secure.Port), "secureClientPortAddress=127.0.0.1",
		"ssl.keyStore.location="+i.path("server.pem"), "ssl.trustStore.location="+i.path("ca-cert.pem"), "ssl.clientAuth=need",
	)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	url := fmt.Sprintf("zookeeper://%s/simba?tls=true&ca=%s", secure, i.path("ca-cert.pem"))
	opened, err := Open(ctx, url+"&cert="+i.path("client-cert.pem")+"&key="+i.path("client-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	s := &store{opened, t, ctx}
	session := s.open(time.Minute).Session
	s.win(session, "a")
	s.renew(session)

	for url, want := range map[string]string{
		url: "", // the server ends the connection, and does not say why
		fmt.Sprintf("zookeeper://%s/simba?tls=true", secure):                                             "unknown authority",
		fmt.Sprintf("zookeeper://localhost:%d/simba?tls=true&ca=%s", secure.Port, i.path("ca-cert.pem")): "to match localhost",
	} {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		other, err := Open(ctx, url)
		cancel()
		if err == nil {
			other.Close()
			t.Errorf("%s: it was opened", url)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", url, err)
		}
	}
}
