/// librdkafka's report of an unusable broker, for people: the broker's name, and an error text of OpenSSL, the broker
/// or the operating system. It has no secret, because librdkafka logs none.
public struct KafkaTrouble: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Comparable {
        /// There is no connection, or the connection broke.
        case transport
        /// The TLS handshake failed, or one side refused the other's certificate.
        case tls
        /// The broker refuses the name, the password or the mechanism: wrong settings.
        case authentication
    }

    public let kind: Kind
    /// The broker as `host:port`; nil if the line is not about one broker.
    public let broker: String?
    public let words: String

    public init(kind: Kind, broker: String?, words: String) {
        self.kind = kind
        self.broker = broker
        self.words = words
    }

    public var description: String { broker.map { "\($0): \(words)" } ?? words }

    /// Reads a log line. Nil if the line reports no unusable broker.
    public init?(_ line: KafkaLogLine) {
        var text = Substring(line.message)
        let silence = line.facility == "FAIL" ? Self.silence(text) : nil
        guard line.level <= 3 || silence != nil else { return nil }
        // A log line begins with "[thrd:main]: ", an event with "_SSL (-181): ".
        if text.hasPrefix("[thrd:"), let end = text.range(of: "]: ") { text = text[end.upperBound...] }
        if line.code != nil, let end = text.range(of: "): ") { text = text[end.upperBound...] }
        // librdkafka adds a time and a count, which would make repeated lines differ.
        if text.hasSuffix(")"), let start = text.range(of: " (after ", options: .backwards) {
            text = text[..<start.lowerBound]
        }
        let (broker, words) = Self.split(text)
        switch line.facility {
        case "SSLCERTVRFY":
            self.init(kind: .tls, broker: broker, words: Self.certificate(words))
        case "FAIL", "ERROR":
            guard let kind = Self.kind(line.code, words), !words.contains("brokers are down") else { return nil }
            self.init(kind: kind, broker: broker, words: silence ?? Self.brief(words))
        default:
            return nil
        }
    }

    /// Returns the likely reason why a broker closed a connection without an error; nil for another line. librdkafka
    /// logs such an end only as information.
    private static func silence(_ text: Substring) -> String? {
        guard text.contains(": Disconnected") else { return nil }
        // A listener that expects TLS does not understand the client's first request, ApiVersions.
        if text.contains("in state APIVERSION_QUERY") {
            return "the broker closes the connection at the first request: does this port want TLS (security.protocol)?"
        }
        // A listener that expects a log-in answers ApiVersions, but no other request before the log-in.
        guard let end = text.range(of: "ms in state UP"), let start = text.range(of: "(after ", options: .backwards),
            start.upperBound < end.lowerBound, let milliseconds = Int(text[start.upperBound..<end.lowerBound]),
            milliseconds <= firstQuestionMilliseconds, !text.lowercased().contains("sasl_")
        else { return nil }
        return "the broker closes the connection at the first request: does this port want a log-in "
            + "(security.protocol=SASL_SSL or SASL_PLAINTEXT)?"
    }

    /// If a connection ends after at most this time in state UP, the broker counts as refusing the first request.
    private static let firstQuestionMilliseconds = 1_000

    private static func kind(_ code: Int32?, _ words: Substring) -> Kind? {
        // With TLS 1.3 a broker checks the client's certificate after the handshake, and refuses it by an alert in
        // place of an answer.
        if words.contains(alert) { return .tls }
        switch code {
        case KafkaError.Code.authentication, KafkaError.Code.saslAuthenticationFailed: return .authentication
        case KafkaError.Code.ssl: return .tls
        case KafkaError.Code.transport, KafkaError.Code.resolve, KafkaError.Code.timedOut,
            KafkaError.Code.badMessage:
            return .transport
        case .some: return nil
        // A log line has no code, so its words must tell the kind.
        case nil:
            if words.hasPrefix("SASL ") || words.contains("SASL authentication") { return .authentication }
            if words.hasPrefix("SSL ") { return .tls }
            return .transport
        }
    }

    /// Splits a text into the broker's name and the error text. The text has only words, or one of these forms:
    /// `sasl_ssl://host:9093/bootstrap: words`, `host:9092/1: words` (without TLS and SASL), and
    /// `GroupCoordinator: host:9093: words`.
    private static func split(_ text: Substring) -> (broker: String?, words: Substring) {
        let text = text.hasPrefix("GroupCoordinator: ") ? text.dropFirst("GroupCoordinator: ".count) : text
        guard let end = text.range(of: ": ") else { return (nil, text) }
        let name = host(in: String(text[..<end.lowerBound]))
        guard let colon = name.lastIndex(of: ":"), UInt16(name[name.index(after: colon)...]) != nil else {
            return (nil, text)
        }
        return (name, text[end.upperBound...])
    }

    /// Returns the host and port in librdkafka's name for a broker.
    static func host(in name: String) -> String {
        let rest = name.firstRange(of: "://").map { name[$0.upperBound...] } ?? name[...]
        return String(rest.prefix { $0 != "/" })
    }

    /// Returns a sentence for a text like "Certificate (subject=/CN=a, issuer=/CN=b) verification callback failed:
    /// why".
    private static func certificate(_ words: Substring) -> String {
        guard let end = words.range(of: " verification callback failed: ") else { return String(words) }
        let names = words[..<end.lowerBound].drop { $0 != "(" }
        return "the broker's certificate \(names) is not accepted: \(words[end.upperBound...])"
    }

    private static let alert = "SSL alert number "
    /// The TLS alerts that a broker sends if it refuses the client's certificate, or if the client sent none
    /// (https://www.iana.org/assignments/tls-parameters).
    private static let certificateAlerts: Set<Int> = [41, 42, 43, 44, 45, 46, 48, 116]

    /// Returns a sentence if the broker refused the client's certificate, otherwise nil. The text is like "Receive
    /// failed: error:0A000416:SSL routines::sslv3 alert certificate unknown: SSL alert number 46".
    private static func refusal(_ words: Substring) -> String? {
        guard let place = words.range(of: alert), let number = Int(words[place.upperBound...].prefix { $0.isNumber }),
            certificateAlerts.contains(number)
        else { return nil }
        let name = words[..<place.lowerBound].range(of: " alert ", options: .backwards)
            .map { words[$0.upperBound..<place.lowerBound].prefix { $0 != ":" } }
        return "the broker refuses the client's certificate, or the client showed none: "
            + (name.map { "\($0) (TLS alert \(number))" } ?? "TLS alert \(number)")
    }

    /// Returns the error text without the advice that librdkafka adds to every certificate error.
    private static func brief(_ words: Substring) -> String {
        if let refusal = refusal(words) { return refusal }
        guard let advice = words.range(of: ": broker certificate could not be verified") else { return String(words) }
        return String(words[..<advice.lowerBound])
    }
}

extension Substring {
    fileprivate enum Direction { case backwards }

    fileprivate func range(of text: String) -> Range<Index>? { firstRange(of: text) }
    fileprivate func range(of text: String, options: Direction) -> Range<Index>? { ranges(of: text).last }
}
