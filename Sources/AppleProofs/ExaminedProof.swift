import Encodings
import Fulfillment
import NamesAndTimes

/// The result of examining any text, for people. No rule reads this result.
public struct ExaminedProof: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case receipt
        case ios6Receipt = "ios6_receipt"
        case signedTransaction = "signed_transaction"
        case notification
        case renewalInfo = "renewal_info"
        case appTransaction = "app_transaction"
        case unknown
    }

    public var kind = Kind.unknown
    public var bundleID: BundleID?
    /// The environment as written, for example `Xcode`; nil if it is absent.
    public var environment: String?
    /// The state of the signature; nil if the text is of no kind that has a signature.
    public var signature: LocalSignature?
    /// The common names of the root, intermediate and leaf certificates behind the signature; empty if the signature is
    /// not proven.
    public var chain: [String] = []
    /// The receipt's creation date, or the JWS's `signedDate`; nil if there is none.
    public var signedAt: Timestamp?
    public var purchases: [StorePurchase] = []
    /// The `notificationType` and `subtype` of a notification; nil for other kinds.
    public var notification: (type: String, subtype: String?)?
    /// The reason why the text is forged, or the likely kind of an unknown text; nil if there is no fault.
    public var cause: Cause?
    /// The repair that made the text readable; nil if the text needed no repair.
    public var repair: Cause?
    /// Unity's envelope around the proof; nil if there is none.
    public var envelope: UnityEnvelope?
    /// The proof in a submission's form; nil if the text does not prove a purchase.
    public var proof: Submission.Proof?

    /// True if the text is readable and no signature in it is forged.
    public var isSound: Bool {
        if case .forged? = signature { return false }
        return kind != .unknown && cause == nil
    }
}

extension ProofReader {
    /// Reads any text: a receipt in base64 or in bytes, a JWS of any kind, Unity's envelope, or a notification's body.
    public func examine(_ bytes: [UInt8]) -> ExaminedProof {
        // A new reader remembers no chain, so that `knownChains` has only the chains of this proof.
        let reader = ProofReader(chains: chains.forgetful)
        var examined = reader.read(bytes)
        if examined.signature == .proven { examined.chain = reader.chains.knownChains.first ?? [] }
        return examined
    }

    private func read(_ bytes: [UInt8]) -> ExaminedProof {
        if bytes.first == BERTag.sequence, String(validating: bytes, as: UTF8.self) == nil {
            return examine(Submission.Proof.receipt(Base64.encode(bytes)))
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            return unknown(.notAReceipt("it is not text"))
        }
        if let json = try? JSONParser.parse(bytes).value, let payload = json["signedPayload"]?.string {
            return examine(jws: payload)
        }
        let shape = ProofShape(text, in: .receiptData)
        var examined = examine(shape.proof)
        if examined.kind == .unknown, let other = repaired(shape.proof) { examined = other }
        examined.envelope = shape.envelope ?? examined.envelope
        if let cause = examined.envelope?.cause(against: examined.purchases) { examined.cause = cause }
        return examined
    }

    /// Returns the first repaired proof whose signature is proven.
    private func repaired(_ proof: Submission.Proof) -> ExaminedProof? {
        for candidate in ProofRepair.candidates(for: proof) {
            var examined = examine(candidate.proof)
            guard examined.signature == .proven else { continue }
            (examined.repair, examined.envelope) = (candidate.cause, candidate.envelope)
            return examined
        }
        return nil
    }

    private func examine(_ proof: Submission.Proof) -> ExaminedProof {
        switch proof {
        case .transactionID: return unknown(.notAReceipt("it is a bare id"))
        case .signedTransaction(let text): return examine(jws: text)
        case .receipt(let text):
            guard let bytes = Base64.decode(text.utf8) else { return unknown(MalformedProof.cause(of: proof)) }
            switch readReceipt(bytes) {
            case .malformed(let why): return unknown(MalformedProof.cause(of: proof, reading: .notAReceipt(why)))
            case .read(let receipt): return ExaminedProof(receipt, proof)
            }
        }
    }

    private func examine(jws text: String) -> ExaminedProof {
        let token: CompactJWS
        do throws(CompactJWS.Fault) {
            token = try CompactJWS(text)
        } catch {
            return unknown(MalformedProof.cause(of: .signedTransaction(text), reading: .notAJWS(error.rawValue)))
        }
        var examined = ExaminedProof(token.payload)
        examined.signature = token.signature(at: examined.signedAt, chains: chains)
        switch examined.kind {
        case .signedTransaction:
            examined.proof = .signedTransaction(text)
            switch readSignedTransaction(text) {
            case .read(let transaction):
                examined.signature = transaction.signature
                examined.purchases = [transaction.purchase]
            case .nameless(let field): examined.cause = .namelessPurchase([field])
            case .malformed, .notATransaction, .unreadable: break
            }
        case .notification:
            examined.add(token.payload["data"]?["signedTransactionInfo"]?.string.map(readSignedTransaction))
        default: break
        }
        if case .forged(let forgery)? = examined.signature { examined.cause = forgery.cause }
        return examined
    }

    private func unknown(_ cause: Cause) -> ExaminedProof {
        var examined = ExaminedProof()
        examined.cause = cause
        return examined
    }
}

extension ExaminedProof {
    fileprivate init(_ receipt: LocalReceipt, _ proof: Submission.Proof) {
        kind = receipt.style == .appReceipt ? .receipt : .ios6Receipt
        bundleID = receipt.bundleID
        environment = receipt.isLocal ? "Xcode" : receipt.environment?.rawValue
        signature = receipt.signature
        signedAt = receipt.creationDate
        purchases = receipt.purchases
        if case .forged(let forgery) = receipt.signature { cause = receipt.isLocal ? .xcode : forgery.cause }
        self.proof = proof
    }

    /// The members that distinguish the kinds. The first present member of this list decides.
    private static let marks: [(member: String, kind: Kind)] = [
        ("notificationType", .notification), ("transactionId", .signedTransaction), ("autoRenewStatus", .renewalInfo),
        ("autoRenewProductId", .renewalInfo), ("originalApplicationVersion", .appTransaction),
        ("receiptType", .appTransaction),
    ]

    /// Reads the claims of a payload, signed or not (source: Apple's decoded payloads of transactions, renewal
    /// information, app transactions and notifications).
    fileprivate init(_ payload: JSONValue) {
        kind = Self.marks.first { payload[$0.member] != nil }?.kind ?? .unknown
        let data = payload["data"] ?? payload["summary"] ?? payload["appData"]
        bundleID = (payload.identifier("bundleId").told ?? data?.identifier("bundleId").told)
        environment =
            payload["environment"]?.string ?? payload["receiptType"]?.string ?? data?["environment"]?.string
        signedAt = payload.date("signedDate").told ?? payload.date("receiptCreationDate").told
        if let type = payload["notificationType"]?.string { notification = (type, payload["subtype"]?.string) }
        if kind == .unknown { cause = .notATransaction }
    }

    /// Adds the notification's transaction. The transaction has a signature of its own.
    fileprivate mutating func add(_ reading: SignedTransactionReading?) {
        guard case .read(let transaction)? = reading else { return }
        purchases = [transaction.purchase]
        if signature == .proven { signature = transaction.signature }
    }
}
