package mysql_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/simba-go/simba/backend/mysql"
)

func ExampleOpen() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := mysql.Open(ctx, "mysql://app:password@db.example/app?tls=true")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close() // after the clients that use it
}

// With settings of your own: here, passwords that change.
func ExampleNew() {
	config := driver.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", "db.example:3306", "app"
	err := config.Apply(driver.BeforeConnect(func(_ context.Context, c *driver.Config) error {
		c.User, c.Passwd = "app", "from a vault"
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	store, err := mysql.New(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}

// A program that makes its tables when it starts. Several may do so at once.
func ExampleMigrate() {
	config, err := mysql.ParseURL("mysql://admin:password@db.example/app")
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := mysql.Migrate(ctx, config); err != nil {
		log.Fatal(err)
	}
}

func ExampleScript() {
	first, _, _ := strings.Cut(mysql.Script(), "\n")
	fmt.Println(first)
	// Output: DELIMITER //
}

func ExampleParseURL() {
	config, err := mysql.ParseURL("mysql://app:p%40ss@db.example/app")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(config.User, config.Passwd, config.Addr, config.DBName)
	// Output: app p@ss db.example:3306 app
}
