/// The reason why there is no response.
public enum HTTPFailure: Error, Sendable, Equatable {
    case timeout
    case connection(ConnectionFailure)
    /// The body is longer than 16 MiB.
    case tooLong
}
