package backend_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/simba-go/simba/backend"
)

func TestCheckName(t *testing.T) {
	long := strings.Repeat("x", backend.MaxName)
	for _, name := range []string{"a", "Z", "0", "_", ":", "-", "...", ".a", "a.", "a..b", "web-3:4711_x.y", long} {
		if err := backend.CheckName(name); err != nil {
			t.Errorf("%q is refused: %v", name, err)
		}
	}
	for name, why := range map[string]string{
		"":          "empty",
		".":         "folder",
		"..":        "folder",
		long + "x":  "129 characters",
		"a/b":       `contains '/'`,
		"a b":       `contains ' '`,
		"a\x00":     `contains '\x00'`,
		"größe":     `contains 'ö'`,
		"a\xff":     `contains`,
		"50%":       `contains '%'`,
		"{tag}":     `contains '{'`,
		"\n":        `contains '\n'`,
		"x'; --":    `contains '\''`,
		"full．stop": `contains '．'`,
	} {
		var wrong *backend.NameError
		err := backend.CheckName(name)
		if !errors.As(err, &wrong) {
			t.Errorf("%q is accepted: %v", name, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, why) || !strings.Contains(text, "1 to 128 characters of A-Z") {
			t.Errorf("the error for %q does not say what is wrong (%q) and what would be right: %s", name, why, text)
		}
	}
}

// R17, written in another way.
func TestCheckNameIsTheRule(t *testing.T) {
	rule := regexp.MustCompile(`\A[A-Za-z0-9._:-]{1,128}\z`)
	names := rapid.OneOf(
		rapid.StringMatching(`[A-Za-z0-9._:-]{0,140}`),
		rapid.StringMatching(`[.]{0,3}`),
		rapid.StringN(0, 140, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 140), func(b []byte) string { return string(b) }),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		want := rule.MatchString(name) && name != "." && name != ".."
		if err := backend.CheckName(name); (err == nil) != want {
			t.Fatalf("CheckName(%q) = %v", name, err)
		}
	})
}
