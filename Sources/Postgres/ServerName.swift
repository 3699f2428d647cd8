/// The server of an error, without secrets. If a password in the URI has an unescaped character, libpq takes the rest
/// of the password for another part of the URI. That part then contains the `@` before the host, and is hidden.
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

    /// The text that ends an error's message.
    var text: String { "\(host), port \(port), user \(user), database \(database)" }

    /// The quoted words that a message may contain.
    var words: Set<String> { Set([host, port, user, database]).subtracting([Self.hidden]) }

    private static let hidden = "…"
    private static let longest = 128

    private static func shown(_ part: String) -> String {
        let isPlain = part.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "@" }
        return isPlain && part.utf8.count <= longest ? part : hidden
    }
}
