import Encodings
import NamesAndTimes
import TestSupport
import Testing

@testable import Fulfillment

@Suite("The checks of screening, before the worker asks Apple")
struct ScreeningTests {
    private let receipt = Submission.Proof.receipt("MIIB")
    private let jws = Submission.Proof.signedTransaction("a.b.c")

    private func screen(
        _ proof: Submission.Proof, as reading: ProofReading, app: AppPolicy = Sample.app(),
        bundle: BundleID = Sample.bundle, now: Timestamp = Sample.recordTime
    ) -> Screening {
        Screening.screen(
            Submission(submissionID: "s", playerID: "p", bundleID: bundle, proof: proof),
            catalog: Catalog(version: 1, apps: [app]), parser: ScriptedProofs(ofEvery: reading), now: now)
    }

    private func reason(
        _ content: ProofContent?, _ signature: ParsedProof.Signature, app: AppPolicy = Sample.app()
    ) -> Reason? {
        screen(receipt, as: .read(content, signature), app: app).reason
    }

    @Test("screening rejects a malformed receipt of an unknown app as unknown_app")
    func unknownAppFirst() {
        for proof: Submission.Proof in [.receipt("!"), .signedTransaction("!"), .transactionID("1")] {
            for bundle: BundleID in ["com.example.other", "com.example.game "] {
                #expect(screen(proof, as: .malformed, bundle: bundle).reason == .unknownApp)
            }
        }
        #expect(screen(.receipt("!"), as: .read(nil, .proven)).reason == .malformedReceipt)
        #expect(screen(receipt, as: .malformed).reason == .malformedReceipt)
        #expect(screen(jws, as: .malformed).reason == .malformedReceipt)
    }

    @Test("screening compares bundle ids by bytes: a composed and a decomposed accent make different apps")
    func bundleBytes() {
        let screened = screen(
            .transactionID("1"), as: .malformed, app: AppPolicy(bundleID: "caf\u{E9}"), bundle: "cafe\u{301}")
        #expect(screened.reason == .unknownApp)
    }

    @Test("screening gives a receipt the digest of its decoded bytes, for any base64 spelling and any result")
    func digests() {
        let digest = Digest256(hashing: [0x30, 0xFB, 0xFF, 0xFE])
        for text in ["MPv//g==", "MPv__g", " MPv/\n/g== "] {
            #expect(
                screen(.receipt(text), as: .malformed)
                    == .rejected(Refusal(.malformedReceipt, .notAReceipt()), proof: digest))
            #expect(
                screen(.receipt(text), as: .malformed, bundle: "x") == .rejected(Refusal(.unknownApp), proof: digest))
            #expect(
                screen(.receipt(text), as: .read(nil, .notProvable))
                    == .admitted(ParsedProof(digest: digest, material: .receipt("MPv//g=="))))
        }
        #expect(
            screen(.receipt("!"), as: .malformed)
                == .rejected(Refusal(.malformedReceipt, .notBase64), proof: nil))
    }

    @Test(
        "with `local_refusals: ask`, Apple checks malformed and forged receipts, but no junk, JWS or foreign receipts")
    func askingFirst() {
        var app = Sample.app()
        app.announcements.asksBeforeRefusing = true
        let digest = Digest256(hashing: [0x30, 0x82, 0x01])
        let content = Sample.content()
        func doubted(_ content: ProofContent?) -> Screening {
            .admitted(ParsedProof(digest: digest, material: .receipt("MIIB"), content: content))
        }
        #expect(screen(receipt, as: .malformed, app: app) == doubted(nil))
        #expect(screen(receipt, as: .read(content, .forged), app: app) == doubted(content))
        // The proof is a property list after a blank.
        let list = Submission.Proof.receipt(Base64.encode(Array(" {x}".utf8)))
        #expect(screen(list, as: .malformed, app: app).reason == nil)
        // Apple would refuse these proofs too, or would read only junk in them.
        #expect(screen(jws, as: .malformed, app: app).reason == .malformedReceipt)
        #expect(screen(jws, as: .read(content, .forged), app: app).reason == .unauthenticReceipt)
        #expect(screen(.receipt("!"), as: .malformed, app: app).reason == .malformedReceipt)
        let junk = Submission.Proof.receipt(Base64.encode(Array("com.urus.iap.96657290".utf8)))
        #expect(screen(junk, as: .malformed, app: app).reason == .malformedReceipt)
        // The receipt's own environment and app still count.
        #expect(reason(Sample.content(environment: .sandbox), .forged, app: app) == .sandboxNotAllowed)
        var foreign = content
        foreign.bundleID = "com.example.other"
        #expect(reason(foreign, .forged, app: app) == .foreignApp)
    }

    @Test("Apple may overrule only a local malformed_receipt or unauthentic_receipt, and never the rejection of a JWS")
    func disputable() {
        func proof(_ proof: Submission.Proof, _ reason: Reason) -> ParsedProof? {
            Screening.disputable(Sample.submission(proof: proof), refusedFor: reason)
        }
        for reason in Reason.allCases {
            let isDisputable = reason == .malformedReceipt || reason == .unauthenticReceipt
            #expect((proof(receipt, reason) != nil) == isDisputable)
            #expect(proof(jws, reason) == nil)
        }
        #expect(proof(receipt, .unauthenticReceipt)?.signature == .notProvable)
    }

    @Test("if several local reasons apply, the rejection has the reason that comes first in the contract's order")
    func order() {
        var content = Sample.content(environment: .sandbox)
        #expect(reason(content, .proven) == .sandboxNotAllowed)
        #expect(reason(content, .notProvable) == .sandboxNotAllowed)
        #expect(reason(content, .forged) == .unauthenticReceipt)
        content.bundleID = "com.example.other"
        for signature: ParsedProof.Signature in [.proven, .notProvable, .forged] {
            #expect(reason(content, signature) == .foreignApp)
        }
        #expect(reason(nil, .forged) == .unauthenticReceipt)
        #expect(reason(Sample.content(), .proven) == nil)
        #expect(reason(nil, .notProvable) == nil)
        #expect(reason(Sample.content(bundle: nil), .proven) == nil)
    }

    @Test("screening does not check the signature of another app's receipt")
    func foreignSignatures() {
        let submission = Submission(submissionID: "s", playerID: "p", bundleID: Sample.bundle, proof: receipt)
        for (bundle, expected, unproven): (BundleID, Reason, Int) in [
            (Sample.bundle, .unauthenticReceipt, 0), ("com.example.other", .foreignApp, 1),
        ] {
            let parser = ScriptedProofs(ofEvery: .read(Sample.content(bundle: bundle), .forged))
            let screened = Screening.screen(
                submission, catalog: Catalog(version: 1, apps: [Sample.app()]), parser: parser, now: Sample.recordTime)
            #expect(screened.reason == expected)
            #expect(parser.unproven == unproven)
        }
    }

    static let appIDs: [(Int64?, Int64?, StoreEnvironment?, Bool)] = [
        (1, 1, .production, false), (1, 2, .production, true), (1, 0, .production, false), (1, nil, .production, false),
        (nil, 2, .production, false), (1, 2, .sandbox, false), (1, 2, nil, false),
    ]

    @Test(
        "a proof with another nonzero Apple app id is foreign in Production, but not in the sandbox",
        arguments: appIDs)
    func appID(ours: Int64?, told: Int64?, environment: StoreEnvironment?, isForeign: Bool) {
        var app = Sample.app()
        app.appAppleID = ours
        app.sandbox = .accept
        var content = Sample.content(environment: environment)
        content.appAppleID = told
        #expect((reason(content, .proven, app: app) == .foreignApp) == isForeign)
    }

    static let sandboxes: [(AppPolicy.SandboxPolicy, Bool)] = [
        (.reject, false), (.accept, true), (.allowlist(["p", "x"]), true), (.allowlist(["x"]), false),
    ]

    @Test("screening admits a sandbox proof only if the policy allows the player", arguments: sandboxes)
    func sandbox(policy: AppPolicy.SandboxPolicy, isAdmitted: Bool) {
        var app = Sample.app()
        app.sandbox = policy
        #expect((reason(Sample.content(environment: .sandbox), .proven, app: app) == nil) == isAdmitted)
        #expect(reason(Sample.content(), .proven, app: app) == nil)
        #expect(reason(Sample.content(environment: nil), .proven, app: app) == nil)
    }

    @Test("a submission with a bare transaction id is blocked until the app has API credentials")
    func transactionID() {
        let proof = ParsedProof(digest: Digest256(hashing: Array("1000".utf8)), material: .transactionID("1000"))
        #expect(screen(.transactionID("1000"), as: .malformed) == .blocked(.noServerAPI, proof))
        var app = Sample.app()
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        #expect(screen(.transactionID("1000"), as: .malformed, app: app) == .admitted(proof))
    }

    @Test(
        "a proven transaction is sufficient evidence if the app has no API or verifies locally, otherwise for an hour"
    )
    func freshness() {
        var app = Sample.app()
        let proof = ProofReading.read(Sample.content(), .proven)
        func isEnough(afterMinutes minutes: Int64) -> Bool {
            let now = Sample.purchaseTime.adding(milliseconds: minutes * 60_000)
            guard case .admitted(let proof) = screen(jws, as: proof, app: app, now: now) else { return false }
            return proof.sufficientEvidence(for: app, now: now) != nil
        }
        #expect(isEnough(afterMinutes: 0) && isEnough(afterMinutes: 1_000_000))
        app.serverAPI = ServerAPICredentials(issuerID: "i", keyID: "k", privateKeySetting: "S")
        #expect(isEnough(afterMinutes: 0) && isEnough(afterMinutes: 60) && isEnough(afterMinutes: -5))
        #expect(!isEnough(afterMinutes: 61))
        app.verification = .local
        #expect(isEnough(afterMinutes: 61))
    }

    @Test("an unproven transaction is blocked without API credentials, under any verification policy")
    func notProvable() {
        for verification in AppPolicy.Verification.allCases {
            var app = Sample.app()
            app.verification = verification
            guard case .blocked(.noServerAPI, _) = screen(jws, as: .read(Sample.content(), .notProvable), app: app)
            else {
                Issue.record("it is under \(verification)")
                continue
            }
        }
    }
}

extension Screening {
    fileprivate var reason: Reason? {
        if case .rejected(let refusal, _) = self { refusal.reason } else { nil }
    }
}

extension Sample {
    /// Returns the content of a proof that Apple signed at the time of the purchase.
    static func content(
        bundle: BundleID? = bundle, environment: StoreEnvironment? = .production,
        purchases: [StorePurchase] = [purchase()]
    ) -> ProofContent {
        ProofContent(
            bundleID: bundle, environment: environment, purchases: purchases, signedAt: purchaseTime)
    }
}
