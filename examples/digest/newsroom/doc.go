// Package newsroom is a small part of the web, made up: two dozen publications in English
// and Chinese that publish RSS, Atom, JSON Feed, pages and the APIs of some well-known
// services, all from one http.Handler. The demonstration and tests collect from it with
// no network but loopback.
//
// What it publishes at a time is a function of the seed and the time alone: no request
// changes what another one sees, and a second newsroom with the same seed and clock
// answers the same. Publications, people and places are invented, and links lead to the
// reserved domain ".example".
//
// It behaves like the web: with validators and without, compressed and not, in UTF-8 and
// in GBK, by a redirect, and on the evening of one day, [Config].Day, some
// of it fails for a while.
package newsroom
