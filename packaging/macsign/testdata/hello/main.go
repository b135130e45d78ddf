// SPDX-License-Identifier: Apache-2.0

// Command hello is signed in the test.
package main

func main() { println("hello") }
