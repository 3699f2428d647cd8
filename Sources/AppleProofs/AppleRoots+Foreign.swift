import Fulfillment

extension AppleRoots {
    /// The SHA-256 of each root certificate in receiptd's repository. The private keys of these roots are public, in
    /// `seeds/signing`.
    static let published: Set<String> = [
        "7b4edbda86235627ed7040d7fea18eebcf18cc2ba5e062115840aa20dd44b6e1",
        "90f33e83c8506c50b37d936d1c7dbb04afd9c317737bad9335938db3155cd763",
    ]

    /// The number of roots that are not Apple's.
    public var foreignCount: Int {
        let apples = Set(AppleRoots.builtIn.fingerprints)
        return fingerprints.count { !apples.contains($0) }
    }

    /// True if the private key of one root is public, so that anybody can make receipts that this root proves.
    public var holdsPublishedRoot: Bool { fingerprints.contains { Self.published.contains($0.hexadecimal) } }
}

extension Digest256 {
    /// The bytes as hexadecimal digits in lower case.
    var hexadecimal: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
