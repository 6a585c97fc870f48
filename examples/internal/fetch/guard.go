package fetch

import (
	"net/netip"
	"syscall"
)

// The guard stands where a connection is made, on the very address it goes to: a
// name that resolves to something else each time it is asked, a redirect, an
// address spelled in an unusual way, they all come to this point. What a URL says
// is not looked at; it proves nothing.

// ours are the addresses that AllowPrivate opens: this machine, and networks that
// belong to whoever runs it.
var ours = prefixes(
	"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
	"100.64.0.0/10", // shared by carriers, RFC 6598; overlay networks use it too
	"::1/128", "fc00::/7",
)

// nobodys are never asked, from IANA's special-purpose address registries (RFC
// 6890 and its updates). Addresses that carry an IPv4 address are among them,
// because a translator on the way would unpack it behind the guard.
var nobodys = prefixes(
	"0.0.0.0/8",       // this network
	"169.254.0.0/16",  // link-local, where clouds keep credentials
	"192.0.0.0/24",    // protocol assignments
	"192.0.2.0/24",    // documentation
	"192.88.99.0/24",  // 6to4 relays, deprecated
	"198.18.0.0/15",   // benchmarks
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast
	"2001::/23",       // protocol assignments, Teredo among them
	"2001:db8::/32",   // documentation
	"2002::/16",       // 6to4
	"3fff::/20",       // documentation
)

// global is all of IPv6 that is given out. Outside lie loopback, translation
// (64:ff9b::/96), unique local, link-local, site-local and multicast addresses.
var global = netip.MustParsePrefix("2000::/3")

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

// allowed reports whether the client may connect to an address.
func allowed(a netip.Addr, private bool) bool {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return false
	case in(a, ours):
		return private
	case a.Is6() && !global.Contains(a):
		return false
	}
	return !in(a, nobodys)
}

func in(a netip.Addr, all []netip.Prefix) bool {
	for _, p := range all {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// guard is the Control of a net.Dialer.
func guard(private bool) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil || (network != "tcp4" && network != "tcp6") || !allowed(ap.Addr(), private) {
			return ErrPrivateAddress
		}
		return nil
	}
}
