/// One element of BER or DER, as ranges in its source bytes.
struct BERElement {
    /// The identifier octet: class, form and number. The reader rejects numbers above 30, which no receipt has.
    let tag: UInt8
    let start: Int
    /// The content without the end-of-contents octets of an indefinite length.
    let content: Range<Int>
    /// The index after the element and its end-of-contents octets.
    let end: Int

    var isConstructed: Bool { tag & 0x20 != 0 }
    var whole: Range<Int> { start..<end }
}

/// The identifier octets that receipts and certificates use.
enum BERTag {
    static let integer: UInt8 = 0x02
    static let bitString: UInt8 = 0x03
    static let octetString: UInt8 = 0x04
    static let constructedOctetString: UInt8 = 0x24
    static let null: UInt8 = 0x05
    static let objectIdentifier: UInt8 = 0x06
    static let utf8String: UInt8 = 0x0C
    static let ia5String: UInt8 = 0x16
    static let sequence: UInt8 = 0x30
    static let set: UInt8 = 0x31
    /// `[0]` and `[1]`, constructed.
    static let context0: UInt8 = 0xA0
    static let context1: UInt8 = 0xA1
}

/// The reason why bytes are not BER, or exceed the reader's limits. The reason never contains the bytes.
enum BERFault: Error, Equatable {
    case truncated
    case unsupportedTag
    case unsupportedLength
    case tooDeep
    case unexpectedElement
}
