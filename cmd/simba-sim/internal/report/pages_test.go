package report

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

// With -pages, the tests leave their pages in a folder, for someone to look at.
var pages = flag.String("pages", "", "write the pages of the stories into this folder")

func TestMain(m *testing.M) {
	flag.Parse()
	if *pages != "" {
		for name, story := range map[string]Story{"pause": longPause(), "crowded": crowded(20000), "violated": violated(), "hostile": hostile(),
			"empty": {Title: "Nothing happened"}} {
			f, err := os.Create(filepath.Join(*pages, name+".html"))
			if err == nil {
				err = Write(f, story)
			}
			if err != nil {
				panic(err)
			}
			f.Close()
		}
	}
	os.Exit(m.Run())
}
