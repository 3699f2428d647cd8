import NIOCore

/// The server in a URL, and the parts of the URL that a request's head needs.
public struct HTTPEndpoint: Sendable {
    /// The address of a server. One connection serves requests to one origin.
    public struct Origin: Sendable, Hashable {
        public let isSecure: Bool
        /// A name, or an IP address without brackets.
        public let host: String
        public let port: Int

        var isAddress: Bool { (try? SocketAddress(ipAddress: host, port: port)) != nil }
        /// The name that TLS sends, and that the certificate must have; nil for an IP address (RFC 6066, section 3).
        var serverName: String? { isAddress ? nil : host }
    }

    public let origin: Origin
    /// The path with its query.
    public let target: String
    /// The URL without the query, for people. The query may contain a secret.
    public var shownURL: String { "\(origin.isSecure ? "https" : "http")://\(authority)\(target.prefix { $0 != "?" })" }

    /// The `Host` header's value.
    public let authority: String

    /// Returns nil unless the URL starts with `http://` or `https://`, has a host, has no user or password, and is
    /// plain ASCII.
    public init?(url: String) {
        let isSecure = url.hasPrefix("https://")
        guard isSecure || url.hasPrefix("http://"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let rest = url.dropFirst(isSecure ? 8 : 7).prefix { $0 != "#" }
        let name = rest.prefix { $0 != "/" && $0 != "?" }
        guard let (host, givenPort) = Self.split(name) else { return nil }
        let defaultPort = isSecure ? 443 : 80
        origin = Origin(isSecure: isSecure, host: host, port: givenPort ?? defaultPort)
        guard (1...65_535).contains(origin.port) else { return nil }
        let path = rest.dropFirst(name.count)
        target = path.hasPrefix("/") ? String(path) : "/" + path
        let bracketed = host.contains(":") ? "[\(host)]" : host
        authority = origin.port == defaultPort ? bracketed : "\(bracketed):\(origin.port)"
    }

    private static func split(_ name: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        let rest: Substring
        if name.hasPrefix("[") {
            guard let end = name.firstIndex(of: "]") else { return nil }
            host = name[..<end].dropFirst()
            rest = name[end...].dropFirst()
            guard (try? SocketAddress(ipAddress: String(host), port: 0)) != nil else { return nil }
        } else {
            host = name.prefix { $0 != ":" }
            rest = name.dropFirst(host.count)
            guard !host.isEmpty, host.utf8.allSatisfy(isNameByte) else { return nil }
        }
        if rest.isEmpty || rest == ":" { return (String(host), nil) }
        guard rest.first == ":", rest.dropFirst().allSatisfy(\.isNumber), let port = Int(rest.dropFirst()) else {
            return nil
        }
        return (String(host), port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
