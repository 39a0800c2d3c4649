package main

type Bare struct{}

func main() {}
