import NIOCore

/// The event on the connection.
enum WireAnswer {
    /// A whole response.
    case response(ByteBuffer)
    /// A response whose body goes out in chunks with a pause between.
    case drip(ByteBuffer, bodyIndex: Int, milliseconds: Int, chunkBytes: Int)
    /// These bytes go out, then nothing. The connection stays open.
    case thenSilence(ByteBuffer)
    /// These bytes go out, then the connection ends.
    case thenClose(ByteBuffer)
    case silence
    case close
    /// The connection ends with RST instead of FIN.
    case reset
}

/// The kind of an answer in counts and logs.
enum AnswerKind: Hashable, Sendable {
    case status(Int)
    case http(Int)
    case emptyInApp
    /// The App Store Server API answered, whole and without an error.
    case served(SimulatedEndpoint)
    case json
    case html
    case hang
    case hangAfterHeaders
    case reset
    case close
    case halfBody
    case garbage
    case slowDrip

    var label: String {
        switch self {
        case .status(let status): "status_\(status)"
        case .http(let status): "http_\(status)"
        case .emptyInApp: "empty_in_app"
        case .served(.transactions): "transaction"
        case .served(let endpoint): endpoint.rawValue
        case .json: "json"
        case .html: "html"
        case .hang: "hang"
        case .hangAfterHeaders: "hang_after_headers"
        case .reset: "reset"
        case .close: "close"
        case .halfBody: "half_body"
        case .garbage: "garbage"
        case .slowDrip: "slow_drip"
        }
    }
}

/// One request's place on its connection.
struct ConnectionTurn {
    let endpoint: SimulatedEnvironment
    /// True if the connection closes after the answer, which says so.
    let isLast: Bool
    /// An empty buffer to write the answer into.
    let buffer: ByteBuffer
}

struct PlannedAnswer {
    var wire: WireAnswer
    /// The wait before the answer, in nanoseconds.
    var delay: Int64
}
