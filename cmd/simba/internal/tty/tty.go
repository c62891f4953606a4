// Package tty tells terminals from other files.
package tty
