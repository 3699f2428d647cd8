/// One parser of outside bytes, with the conditions that must hold for all bytes.
struct FuzzTarget: Sendable {
    let name: String
    /// The inputs to start from. Their structure is intact, so that mutations get past the parser's first check.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// Traps if a condition does not hold. The fuzzer then keeps the input.
    let check: @Sendable ([UInt8]) -> Void
    /// The parser alone, which `Fuzz growth` measures; nil if `check` does little else.
    var read: (@Sendable ([UInt8]) -> Void)?
    /// Inputs of growing size, of kinds that have made parsers slow. `Fuzz growth` measures them.
    var families: [GrowthFamily] = []
    /// Words of the parser's format, for the fuzzer's dictionary.
    var words: [String] = []

    static let all: [FuzzTarget] = [
        .base64, .json, .submission, .signature, .timestamp, .receipt, .transaction, .notification, .answer,
        .storeAnswer, .retryAfter,
        .catalog, .kafkaProperties,
    ]

    static func named(_ name: String) -> FuzzTarget? { all.first { $0.name == name } }
}

/// Inputs of one shape in any size.
struct GrowthFamily: Sendable {
    let name: String
    /// The size in bytes of the larger input of a pair. The smaller input has half of it.
    var size = 1 << 20
    let make: @Sendable (_ size: Int) -> [UInt8]

    static func repeating(_ piece: String, after head: String = "", before tail: String = "", size: Int = 1 << 20)
        -> Self
    {
        GrowthFamily(name: "\(head)(\(piece))…\(tail)", size: size) { size in
            Array(head.utf8) + Array(repeatElement(Array(piece.utf8), count: size / piece.utf8.count).joined())
                + Array(tail.utf8)
        }
    }
}

/// Ends the process if a condition does not hold. Unlike `assert`, this function also checks in optimised builds. The
/// message does not show the input.
func mustHold(_ condition: Bool, _ sentence: StaticString) {
    if !condition { fatalError("\(sentence)") }
}
