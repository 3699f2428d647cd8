import Foundation

/// One server to connect to, as libpq's parameters: one host and, after the look-up of its name, one address.
///
/// Only libpq's blocking calls give each address its own time-out. With its asynchronous calls, a silent first address
/// would use up the whole time.
struct ConnectTarget {
    let parameters: [String: String]

    /// Returns the targets in the order of the URI.
    static func all(_ parameters: [String: String]) -> [ConnectTarget] {
        let hosts = list(parameters["host"])
        let addresses = list(parameters["hostaddr"])
        let ports = list(parameters["port"])
        let count = max(hosts.count, addresses.count, 1)
        // libpq refuses lists of different lengths.
        guard hosts.isEmpty || addresses.isEmpty || hosts.count == addresses.count,
            ports.count <= 1 || ports.count == count
        else { return [ConnectTarget(parameters: parameters)] }
        return (0..<count).map { number in
            var one = parameters
            if !hosts.isEmpty { one["host"] = hosts[number] }
            if !addresses.isEmpty { one["hostaddr"] = addresses[number] }
            if ports.count > 1 { one["port"] = ports[number] }
            return ConnectTarget(parameters: one)
        }
    }

    private static func list(_ value: String?) -> [String] {
        guard let value, !value.isEmpty else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// Looks up the host's name. Returns a target for each of its addresses, so that libpq does not block for a
    /// look-up.
    func resolved(within limit: Duration, interrupt: Interrupt) throws(PostgresError) -> [ConnectTarget] {
        let host = parameters["host"] ?? ""
        // A socket's directory and a numeric address need no look-up.
        guard parameters["hostaddr"] ?? "" == "", let first = host.first, first != "/", first != "@",
            !host.contains(","), case .failed = NameLookUp.lookUp(host, flags: AI_NUMERICHOST)
        else { return [self] }
        switch NameLookUp.run(host, until: .now + limit, interrupt: interrupt) {
        case .addresses(let found):
            // If no address has a numeric form, libpq gets the name.
            return found.isEmpty
                ? [self] : found.map { ConnectTarget(parameters: parameters.merging(["hostaddr": $0]) { $1 }) }
        case .failed(let words): throw failure("the host's name cannot be looked up: \(words)")
        case nil:
            if interrupt.isSet { throw Connection.interrupted }
            throw failure("the host's name cannot be looked up: no answer in \(limit.components.seconds) s")
        }
    }

    private func failure(_ words: String) -> PostgresError {
        PostgresError(sqlState: nil, message: words, kind: .connection).at(ServerName(parameters))
    }
}
