package canon

// byteClass is a set of bit flags that define where a byte may stay unescaped.
type byteClass uint8

const (
	alphaByte      byteClass = 1 << iota // a-z A-Z
	hexByte                              // 0-9 a-f A-F
	schemeByte                           // may follow the first letter of a scheme
	hostByte                             // a-z 0-9 - _ (lower case only)
	unreservedByte                       // its escape is decoded
	pathByte                             // unescaped in a path; / and \ are handled before
	queryByte                            // unescaped in a query
	asWritten                            // no class of bytes: appendNormal keeps escapes unchanged
)

var classes = func() (t [256]byteClass) {
	set := func(class byteClass, bytes string) {
		for i := range len(bytes) {
			t[bytes[i]] |= class
		}
	}
	const (
		lower = "abcdefghijklmnopqrstuvwxyz"
		upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		digit = "0123456789"
	)
	set(alphaByte, lower+upper)
	set(hexByte, digit+"abcdefABCDEF")
	set(schemeByte, lower+upper+digit+"+-.")
	set(hostByte, lower+digit+"-_")
	set(unreservedByte, lower+upper+digit+"-._~")
	set(pathByte, lower+upper+digit+"-._~!$&'()*+,;=:@/[]")
	set(queryByte, lower+upper+digit+"-._~!$&()*+,;=:@/[]?\\^`{|}")
	return t
}()

func is(c byte, class byteClass) bool { return classes[c]&class != 0 }

// unhex returns the value of a hexadecimal digit.
func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}
