/// An `appAccountToken`: the UUID by which a game binds a purchase to one of the game's accounts.
public enum AccountToken: Sendable, Equatable {
    /// The token in lower case.
    case token(String)
    /// The nil UUID, which clients without a token send.
    case none
    /// The text is not a UUID in the 8-4-4-4-12 form.
    case malformed

    static let nilUUID = "00000000-0000-0000-0000-000000000000"

    public init(told text: String) {
        switch UUIDText.normalized(text) {
        case nil: self = .malformed
        case Self.nilUUID?: self = .none
        case let token?: self = .token(token)
        }
    }

    /// The token; nil for `none` and `malformed`.
    public var text: String? {
        if case .token(let text) = self { text } else { nil }
    }
}
