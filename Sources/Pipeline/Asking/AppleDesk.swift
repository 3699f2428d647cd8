import Fulfillment
import Logging
import NamesAndTimes
import Operations

/// Sends requests to Apple for submissions and held purchases. For some of them, the desk also requests further facts
/// that the rules need.
///
/// The desk changes nothing in the ledger. So the worker may abandon a request, and send the request again later.
final class AppleDesk: Sendable {
    let verification: PipelineVerification
    let ledger: any PurchaseLedger
    let subscriptions: any FollowedSubscriptions
    let parking: ParkingContext
    let metrics: PipelineMetrics
    let logger: Logger
    private let shared = SharedAnswers()

    init(
        verification: PipelineVerification, ledger: any PurchaseLedger, subscriptions: any FollowedSubscriptions,
        parking: ParkingContext, metrics: PipelineMetrics, logger: Logger
    ) {
        (self.verification, self.ledger, self.subscriptions) = (verification, ledger, subscriptions)
        (self.parking, self.metrics, self.logger) = (parking, metrics, logger)
    }

    /// Reads the proof and checks its signature. Sends no request to Apple.
    func screen(_ submission: Submission, under catalog: Catalog) -> Screening {
        let now = WallClock.now
        let screening = Screening.screen(submission, catalog: catalog, parser: verification.parser, now: now)
        if case .admitted(let proof) = screening {
            if proof.signature == .proven, let signedAt = proof.content?.signedAt {
                metrics.all.signedClock.took(signedAt: signedAt.milliseconds, now: now.milliseconds)
            }
            if let repair = proof.repair { metrics.all.proofsRepaired.with(repair.code).increment() }
        }
        return screening
    }

    /// Returns the proof's own evidence if it is enough, otherwise Apple's answer.
    /// - Parameter isRetry: true if an earlier request had no usable answer, or if the submission waited in the
    ///   database. First tries go before retries.
    func answer(to inquiry: AppleInquiry, _ terms: AppTerms, isRetry: Bool) async -> AppleAnswer {
        if let answer = answerOfItself(inquiry, terms) { return answer.value }
        let ask = question(inquiry, terms, isRetry: isRetry)
        let triesBefore = inquiry.work.tryCount
        await Suspected.work?.waits()
        let answer = await inquiry.work.sharedAnswer(ask)
        await Suspected.work?.works()
        note(answer, to: inquiry, triesBefore: triesBefore)
        return answer
    }

    /// Judges an inquiry. If the rules need further facts, requests them from Apple first.
    /// - Parameter judgeNow: judges with the answer and the further facts known so far.
    @inline(never)
    func judge(
        _ inquiry: AppleInquiry, under terms: AppTerms, _ further: inout FurtherAnswers,
        _ judgeNow: (FurtherAnswers) -> Judgement
    ) async throws(Abandoned) -> Judgement {
        while true {
            let judgement = judgeNow(further)
            guard case .needs(let question) = judgement else { return judgement }
            if let unanswered = try await ask(question, about: inquiry, terms, &further) { return unanswered }
        }
    }

    /// A box for the proof's own evidence. It exists only if no request to Apple is needed, so a waiting task uses no
    /// memory for it.
    private final class OwnAnswer {
        let value: AppleAnswer
        init(_ value: AppleAnswer) { self.value = value }
    }

    /// Returns the proof's own evidence if it is enough; nil if the worker must send a request to Apple.
    @inline(never)
    private func answerOfItself(_ inquiry: AppleInquiry, _ terms: AppTerms) -> OwnAnswer? {
        inquiry.proof.sufficientEvidence(for: terms.app, now: inquiry.isAskedAgain ? nil : WallClock.now)
            .map { OwnAnswer(.genuine($0)) }
    }

    @inline(never)
    private func note(_ answer: AppleAnswer, to inquiry: AppleInquiry, triesBefore: Int) {
        let work = inquiry.work
        if work.tryCount == triesBefore { work.add(AppleTry(at: WallClock.now, answer: answer)) }
        if Task.isCancelled { return }
        let isReceipt = if case .receipt = inquiry.proof.material { true } else { false }
        noteAnswer(answer, to: inquiry, isReceipt: isReceipt)
    }

    /// Returns a function that sends the request to Apple, once for all submissions in flight with the same proof and
    /// app.
    @inline(never)
    private func question(
        _ inquiry: AppleInquiry, _ terms: AppTerms, isRetry: Bool
    ) -> @Sendable () async -> AppleAnswer {
        let (work, submission, proof) = (inquiry.work, inquiry.submission, inquiry.proof)
        guard let question = proof.question(for: terms.app) else { return { .blocked(.noServerAPI) } }
        var request = VerificationRequest(bundleID: submission.bundleID, subject: question)
        request.proof = proof.digest
        request.playerID = submission.playerID
        request.isProven = proof.isProven(of: submission.bundleID)
        request.holdsAutoRenewable = proof.content?.holdsAutoRenewable ?? true
        request.isRetry = isRetry
        request.isLeased = inquiry.isLeased
        request.waiting = { [weak work] isWaiting in work?.setWaiting(isWaiting) }
        request.ended = { [weak work] latest in work?.add(latest) }
        let key = SharedAnswers.Key(proof: proof.digest, bundleID: submission.bundleID)
        return { [request, shared, verifier = verification.verifier] in
            await shared.answer(
                for: key, waiting: { work.setWaiting($0) }, ask: { await verifier.verify(request) })
        }
    }
}
