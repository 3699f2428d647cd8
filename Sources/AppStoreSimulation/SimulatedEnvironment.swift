/// One of Apple's two environments. Each has its own verifyReceipt address and its own receipts.
public enum SimulatedEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    case sandbox

    /// The value of `environment` in Apple's answers, signed transactions and notifications.
    var appleName: StaticString { self == .production ? "Production" : "Sandbox" }

    /// The value of attribute 0 of the app receipt, and of `receipt_type` in Apple's answers.
    var receiptType: StaticString { self == .production ? "Production" : "ProductionSandbox" }
}

/// A value for each of the two environments. Access is faster than in a dictionary.
struct PerEndpoint<Value: Sendable>: Sendable {
    var production: Value
    var sandbox: Value

    init(_ value: Value) {
        production = value
        sandbox = value
    }

    subscript(endpoint: SimulatedEnvironment) -> Value {
        get { endpoint == .production ? production : sandbox }
        set { if endpoint == .production { production = newValue } else { sandbox = newValue } }
    }

    /// Sets the value of one environment, or of both if `endpoint` is nil.
    mutating func set(_ value: Value, endpoint: SimulatedEnvironment?) {
        if endpoint != .sandbox { production = value }
        if endpoint != .production { sandbox = value }
    }
}
