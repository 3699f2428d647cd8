import Foundation
import NIOCore

/// The operators' HTTP server could not listen.
public struct OperationsServerError: Error, CustomStringConvertible {
    public let host: String
    public let port: Int
    /// The system's `errno`, where it said one: `EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`.
    public let code: Int32?
    private let cause: String

    /// Another port, host or right is needed first.
    public var isRetriable: Bool { false }

    init(host: String, port: Int, cause: any Error) {
        self.host = host
        self.port = port
        code = (cause as? IOError)?.errnoCode
        self.cause = "\(cause)"
    }

    /// Another process listens there.
    public var isPortTaken: Bool { code == EADDRINUSE }

    public var description: String {
        isPortTaken
            ? "cannot listen on \(host):\(port): port \(port) of \(host) is taken by another process"
            : "cannot listen on \(host):\(port): \(cause)"
    }
}
