import Fulfillment
import NamesAndTimes

extension SubmissionWorker {
    /// Returns the proof's own evidence if it is enough, else Apple's answer.
    func answer(to screened: ScreenedSubmission, _ terms: AppTerms, isRetry: Bool) async -> AppleAnswer {
        if let answer = answerOfItself(screened, terms) { return answer.value }
        let ask = question(screened, terms, isRetry: isRetry)
        let triesBefore = screened.item.tryCount
        await Suspected.work?.waits()
        let answer = await screened.item.sharedAnswer(ask)
        await Suspected.work?.works()
        note(answer, to: screened, triesBefore: triesBefore)
        return answer
    }

    /// The answer is in a box: while Apple is asked there is none, and each waiting task would keep room for it.
    private final class OwnAnswer {
        let value: AppleAnswer
        init(_ value: AppleAnswer) { self.value = value }
    }

    /// Nil where Apple has to be asked.
    @inline(never)
    private func answerOfItself(_ screened: ScreenedSubmission, _ terms: AppTerms) -> OwnAnswer? {
        let evidence =
            screened.proof.sufficientEvidence(for: terms.app, now: WallClock.now)
            ?? screened.item.announcedEvidence(for: terms.app)
        return evidence.map { OwnAnswer(.genuine($0)) }
    }

    @inline(never)
    private func note(_ answer: AppleAnswer, to screened: ScreenedSubmission, triesBefore: Int) {
        let item = screened.item
        if item.tryCount == triesBefore { item.add(AppleTry(at: WallClock.now, answer: answer)) }
        noteAnswer(answer, to: screened)
    }

    /// Asks Apple, once for all who have the same question.
    @inline(never)
    private func question(
        _ screened: ScreenedSubmission, _ terms: AppTerms, isRetry: Bool
    ) -> @Sendable () async -> AppleAnswer {
        let (item, submission, proof) = (screened.item, screened.submission, screened.proof)
        guard let question = proof.question(for: terms.app) else { return { .blocked(.noServerAPI) } }
        var request = VerificationRequest(bundleID: submission.bundleID, subject: question)
        request.proof = proof.digest
        request.playerID = submission.playerID
        request.isProven = proof.isProven(of: submission.bundleID)
        request.holdsAutoRenewable = proof.content?.holdsAutoRenewable ?? true
        request.isRetry = isRetry
        request.isLeased = screened.item.isLeased
        request.waiting = { [weak item] isWaiting in item?.setWaiting(isWaiting) }
        request.ended = { [weak item] latest in item?.add(latest) }
        let key = SharedAnswers.Key(proof: proof.digest, bundleID: submission.bundleID)
        return { [request, shared, verifier = verification.verifier] in
            await shared.answer(
                for: key, waiting: { item.setWaiting($0) }, ask: { await verifier.verify(request) })
        }
    }
}
