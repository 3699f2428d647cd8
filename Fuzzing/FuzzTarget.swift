/// One parser of bytes from outside, and what must hold whatever the bytes are.
struct FuzzTarget: Sendable {
    let name: String
    /// Inputs to start from: where the parser's own structure is whole, mutations reach behind its first check.
    let seeds: @Sendable () throws -> [[UInt8]]
    /// Traps where something does not hold; the fuzzer keeps the input.
    let check: @Sendable ([UInt8]) -> Void
    /// The parser alone, without what is compared: what growth is measured of. Nil where `check` does little else.
    var read: (@Sendable ([UInt8]) -> Void)?
    /// Bytes that grow with their parameter, of the kinds that have made parsers slow: `--growth` measures them.
    var families: [GrowthFamily] = []
    /// Words of the parser's language.
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
    /// A megabyte where nothing else is said; halved for the smaller one of a pair.
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

/// Ends the process if a condition does not hold. Unlike `assert` it is checked in optimised builds, and the message
/// names no input.
func mustHold(_ condition: Bool, _ sentence: StaticString) {
    if !condition { fatalError("\(sentence)") }
}
