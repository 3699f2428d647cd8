import Foundation

/// One server to try: libpq's own parameters for one address. libpq gives each address of several its time only where it
/// blocks; asynchronously the first one that is silent would keep the others from ever being tried.
struct ConnectTarget {
    let parameters: [String: String]

    /// In the order of the URI. Looking a name up blocks for as long as the resolver's own settings allow.
    static func all(_ parameters: [String: String]) -> [ConnectTarget] {
        let hosts = list(parameters["host"])
        let addresses = list(parameters["hostaddr"])
        let ports = list(parameters["port"])
        let count = max(hosts.count, addresses.count, 1)
        // What does not fit together is libpq's to refuse.
        guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count,
            ports.count <= 1 || ports.count == count
        else { return [ConnectTarget(parameters: parameters)] }
        return (0..<count).flatMap { number in
            var one = parameters
            if !hosts.isEmpty { one["host"] = hosts[number] }
            if !addresses.isEmpty { one["hostaddr"] = addresses[number] }
            if ports.count > 1 { one["port"] = ports[number] }
            let found = addresses.isEmpty ? resolved(one["host"] ?? "") : []
            guard found.count > 1 else { return [ConnectTarget(parameters: one)] }
            return found.map { ConnectTarget(parameters: one.merging(["hostaddr": $0]) { $1 }) }
        }
    }

    private static func list(_ value: String?) -> [String] {
        guard let value, !value.isEmpty else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// The numeric addresses of a name; none for a socket's directory, and where there are none.
    private static func resolved(_ host: String) -> [String] {
        guard let first = host.first, first != "/", first != "@" else { return [] }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &found) == 0 else { return [] }
        defer { freeaddrinfo(found) }
        var addresses: [String] = []
        var next = found
        while let one = next?.pointee {
            next = one.ai_next
            var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            guard
                getnameinfo(one.ai_addr, one.ai_addrlen, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST) == 0
            else { continue }
            let address = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if !addresses.contains(address) { addresses.append(address) }
        }
        return addresses
    }
}
