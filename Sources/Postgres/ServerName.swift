/// The server of an error, as far as it can be named without telling a secret. A URI with an unescaped character in its
/// password makes libpq take the rest of it for another part; that part then holds the `@` before the host.
struct ServerName {
    let host: String
    let port: String
    let user: String
    let database: String

    init(_ parameters: [String: String]) {
        host = Self.shown(parameters["host"] ?? parameters["hostaddr"] ?? "local socket")
        port = Self.shown(parameters["port"] ?? "5432")
        let user = parameters["user"] ?? "the system's"
        self.user = Self.shown(user)
        database = Self.shown(parameters["dbname"] ?? user)
    }

    /// The text for the end of a message.
    var text: String { "\(host), port \(port), user \(user), database \(database)" }

    /// The quoted words that may stay in a message.
    var words: Set<String> { Set([host, port, user, database]).subtracting([Self.hidden]) }

    private static let hidden = "…"
    private static let longest = 128

    private static func shown(_ part: String) -> String {
        let isPlain = part.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "@" }
        return isPlain && part.utf8.count <= longest ? part : hidden
    }
}
