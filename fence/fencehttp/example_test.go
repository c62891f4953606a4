package fencehttp_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/simba-go/simba/fence"
	"github.com/simba-go/simba/fence/fencehttp"
)

// A server guards what is behind it, and its clients send their tokens.
func Example() {
	var guard fence.Guard
	write := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println("written under token", r.Header.Get(fencehttp.TokenHeader))
	})
	server := httptest.NewServer(fencehttp.Middleware(&guard, "billing")(write))
	defer server.Close()

	client := &http.Client{Transport: &fencehttp.Transport{}}
	post := func(token uint64) error {
		ctx := fencehttp.WithTerm(context.Background(), term{"billing", token}) // a *simba.Term
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader("paid"))
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		return fencehttp.Check(resp)
	}
	fmt.Println(post(42))
	fmt.Println(post(41)) // the one before wakes up
	client.CloseIdleConnections()
	// Output:
	// written under token 42
	// <nil>
	// fence: "billing" refuses the stale token 41: it has seen 42, so another owner has taken over
}

// What a client without Simba sees.
func ExampleMiddleware() {
	var guard fence.Guard
	handler := fencehttp.Middleware(&guard, "billing")(http.NotFoundHandler())
	for _, token := range []string{"42", "41", "-1"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Fencing-Name", "billing")
		r.Header.Set("Fencing-Token", token)
		handler.ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 404 404 page not found
	// 412 {"error":"stale","message":"fence: \"billing\" refuses the stale token 41: it has seen 42, so another owner has taken over","name":"billing","token":41,"highest":42}
	// 400 {"error":"invalid","message":"bad request: Fencing-Token: \"-1\" is no token; it must be a number from 1 to 18446744073709551615, in digits"}
}

// A request without a term is not sent.
func ExampleTransport() {
	client := &http.Client{Transport: &fencehttp.Transport{}}
	resp, err := client.Get("http://127.0.0.1/")
	if err == nil {
		log.Print(resp.Body.Close())
	}
	fmt.Println(errors.Is(err, fencehttp.ErrNoTerm))
	// Output: true
}
