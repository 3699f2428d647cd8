/// The fault with which a whole environment answers every request. An outage has precedence over any behaviour, and
/// applies before the simulation reads the receipt.
public enum SimulatedOutage: String, Sendable, Hashable, Codable, CaseIterable {
    case hang
    case reset
    case close
    case http503
    case html
    /// The listener is closed, and every connection is reset. Neither environment answers, nor does the control API.
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
