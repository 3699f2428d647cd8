import ReceiptdConfiguration

/// The host names to which the console answers. If it answered to any name, a foreign site could point its own domain
/// at the console. The site could then read the console's pages in a browser that can reach the console.
struct KnownHosts: Sendable {
    /// The hosts of proxies. A form may have such a host in its `Origin`, even if the proxy sends another `Host`.
    private let proxies: Set<String>
    private let names: Set<String>
    /// True if the console listens on every address of this machine. It then accepts any IP address as a
    /// request's `Host`.
    private let takesAddresses: Bool

    init(_ settings: ConsoleSettings) {
        let host = Self.bare(settings.http.host)
        takesAddresses = host == "0.0.0.0" || host == "::"
        proxies = settings.hosts
        names = settings.hosts.union(["localhost", "127.0.0.1", "::1", host])
    }

    /// Returns true if the console answers to this host.
    /// - Parameter host: the request's `Host`, with or without a port.
    func contain(_ host: String?) -> Bool {
        guard let host, !host.isEmpty else { return false }
        let name = Self.bare(host)
        return names.contains(name) || HTTPSettings.isLoopback(name) || takesAddresses && Self.isAddress(name)
    }

    /// Returns true if a form from a page of `origin` may be the console's own.
    /// - Parameter host: the host to which the browser sent the form.
    func mayPost(from origin: String, to host: String?) -> Bool {
        guard let start = origin.firstRange(of: "://")?.upperBound, let host else { return false }
        let sender = String(origin[start...])
        return sender.lowercased() == host.lowercased() || proxies.contains(Self.bare(sender))
    }

    /// Returns the host in lower case, without port and brackets. If anything else follows the host, returns the whole
    /// text, which equals no known host.
    static func bare(_ host: String) -> String {
        let host = host.lowercased()
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            let rest = host[host.index(after: end)...]
            return rest.isEmpty || isPort(rest) ? String(host[host.index(after: host.startIndex)..<end]) : host
        }
        var name = host[...]
        if let colon = host.firstIndex(of: ":") {
            guard isPort(host[colon...]) else { return host }
            name = host[..<colon]
        }
        return String(name.hasSuffix(".") ? name.dropLast() : name)
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.hasPrefix(":") && text.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Returns true if the name is an IP address. A foreign site cannot make a browser send an IP address as `Host`.
    private static func isAddress(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isVersion4 = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        let isVersion6 = name.contains(":") && name.allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
        return isVersion4 || isVersion6
    }
}
