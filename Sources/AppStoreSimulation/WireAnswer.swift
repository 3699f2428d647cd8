import NIOCore

/// The simulation's answer to one request, as the client sees it on the connection: bytes or a fault.
enum WireAnswer {
    /// A whole response.
    case response(ByteBuffer)
    /// A response whose body is sent in chunks, with a pause between two chunks.
    case drip(ByteBuffer, bodyIndex: Int, milliseconds: Int, chunkBytes: Int)
    /// Some bytes, and then nothing more. The connection stays open.
    case thenSilence(ByteBuffer)
    /// Some bytes, and then the end of the connection.
    case thenClose(ByteBuffer)
    case silence
    case close
    /// The connection closes with RST instead of FIN.
    case reset
}

/// The kind of an answer, for counters and the log.
enum AnswerKind: Hashable, Sendable {
    case status(Int)
    case http(Int)
    case emptyInApp
    /// An answer of the App Store Server API, whole and without an error.
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

/// The properties of a connection that the answer to one request needs.
struct ConnectionTurn {
    let endpoint: SimulatedEnvironment
    /// True if the connection closes after the answer. An HTTP answer then has the header `Connection: close`.
    let isLast: Bool
    /// The empty buffer for the answer.
    let buffer: ByteBuffer
}

struct PlannedAnswer {
    var wire: WireAnswer
    /// The wait before the answer, in nanoseconds.
    var delay: Int64
}
