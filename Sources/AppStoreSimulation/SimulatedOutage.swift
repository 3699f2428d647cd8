/// A fault of a whole endpoint until it is cleared. It comes before any behaviour and any parsing.
public enum SimulatedOutage: String, Sendable, Hashable, Codable, CaseIterable {
    case hang
    case reset
    case close
    case http503
    case html
    /// The listener is closed and every connection reset, so both endpoints and the control API are gone.
    case refuse

    var step: SimulatedStep {
        switch self {
        case .hang: .hang
        case .reset, .refuse: .reset
        case .close: .close
        case .http503: .http(503, body: "Service Unavailable")
        case .html: .html
        }
    }
}
