import Fulfillment
import NamesAndTimes

/// Requests from the App Store Server API the facts that the rules need in addition to Apple's answer. These requests
/// have the priority of retries, which come after first tries.
extension AppleDesk {
    /// Requests the facts that `question` names, and adds the facts to `further`. Returns nil if these facts are known,
    /// otherwise an undecided or blocked judgement.
    @inline(never)
    func ask(
        _ question: FurtherQuestion, about inquiry: AppleInquiry, _ terms: AppTerms, _ further: inout FurtherAnswers
    ) async throws(Abandoned) -> Judgement? {
        guard let credentials = terms.app.serverAPI else {
            switch question {
            case .grace(let period, _): return await lookUpGrace(of: period, &further)
            case .named(let transactions, _):
                return try await askByName(transactions, about: inquiry, nil, &further)
            case .transactions, .purchases: return .blocked(.noServerAPI)
            }
        }
        let work = inquiry.work
        func context(in environment: StoreEnvironment) -> StoreQueryContext {
            StoreQueryContext(
                bundleID: inquiry.submission.bundleID, credentials: credentials, environment: environment,
                share: .submission, ended: { [weak work] latest in work?.add(latest) })
        }
        let unanswered: Judgement?
        switch question {
        case .transactions(let transactions, let environment):
            // For a held purchase, the ledger would only find the purchase's own hold. So the worker asks Apple
            // instead.
            if !inquiry.isAskedAgain {
                further.noteInLedger(await knownToLedger(transactions, at: work.position))
            }
            let open = transactions.filter { further.isOpen($0) }
            unanswered = try await lookUp(open, for: work, context(in: environment)) { transaction, told in
                // Apple cannot have refunded a transaction that it does not know. So the receipt decides.
                further.note(told, of: transaction)
            }
        case .named(let transactions, let environment):
            unanswered = try await askByName(transactions, about: inquiry, context(in: environment), &further)
        case .grace(let period, let environment):
            unanswered = try await askForGrace(of: period, for: work, context(in: environment), &further)
        case .purchases(let finish):
            unanswered = try await readHistory(finish, about: inquiry, context(in: finish.environment), &further)
        }
        // Apple refused the app's credentials. When Apple accepts them again, the worker makes the parked submissions
        // due.
        if case .blocked(let blockage) = unanswered, !Task.isCancelled {
            noteAnswer(.blocked(blockage), to: inquiry, isReceipt: false)
        }
        return unanswered
    }

    /// Returns those of the transactions that the ledger already has.
    /// - Parameter claimant: the player whose transactions count; nil for any player's.
    func knownToLedger(
        _ transactions: [StoreTransactionID], at position: RecordPosition, claimant: PlayerID? = nil
    ) async -> [StoreTransactionID] {
        let queries = transactions.map { RecallQuery(lookingFor: $0, at: position, claimant: claimant) }
        return await Suspected.waiting {
            await withTaskGroup(of: StoreTransactionID?.self) { [ledger] group in
                for (transaction, query) in zip(transactions, queries) {
                    group.addTask {
                        guard let answer = try? await ledger.recollect(query) else { return nil }
                        if case .provenBefore = answer.value { return transaction }
                        return nil
                    }
                }
                return await group.reduce(into: []) { if let known = $1 { $0.append(known) } }
            }
        }
    }

    /// Looks the transactions up at Apple, a few at a time. Returns nil when all are looked up. The first failure ends
    /// the try.
    /// - Parameter note: receives each transaction's purchase; nil if Apple does not know the transaction.
    func lookUp(
        _ transactions: [StoreTransactionID], for work: WorkInHand, _ context: StoreQueryContext,
        note: (StoreTransactionID, StorePurchase?) -> Void
    ) async throws(Abandoned) -> Judgement? {
        var rest = transactions.prefix(PipelineLimits.lookUpsOfOneTry)
        while !rest.isEmpty {
            // A suspect's work requests one transaction at a time.
            let next = Array(rest.prefix(Suspected.work == nil ? PipelineLimits.lookUpsAtOnce : 1))
            rest = rest.dropFirst(next.count)
            var answers: [LookUp] = []
            try await work.waiting { answers = await lookUp(next, context) }
            var unanswered: Judgement?
            for answer in answers { unanswered = answer.tell(context, to: note) ?? unanswered }
            if let unanswered { return unanswered }
        }
        // The next try looks up the rest. So a submission with a long list does not keep requests of other submissions
        // waiting.
        let isDone = transactions.count <= PipelineLimits.lookUpsOfOneTry
        return isDone ? nil : .undecided(AppleAnswer.Trouble(.rateLimited, wasAsked: false))
    }

    private func lookUp(_ transactions: [StoreTransactionID], _ context: StoreQueryContext) async -> [LookUp] {
        await withTaskGroup(of: LookUp.self) { [queries = verification.queries] group in
            for transaction in transactions {
                group.addTask {
                    LookUp(transaction: transaction, answer: await queries.transaction(transaction, context))
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func readHistory(
        _ finish: FurtherQuestion.EarlyFinish, about inquiry: AppleInquiry, _ context: StoreQueryContext,
        _ further: inout FurtherAnswers
    ) async throws(Abandoned) -> Judgement? {
        var filter = TransactionHistoryFilter()
        filter.from = finish.bought.lowerBound
        // Apple excludes the end of the range. One millisecond more includes it.
        filter.until = finish.bought.upperBound.adding(milliseconds: 1)
        filter.productID = finish.product
        var told: [NotifiedTransaction] = []
        var page: String?
        for _ in 0..<PipelineLimits.historyPages {
            var answer = StoreQueryAnswer<TransactionHistoryPage>.notFound
            try await inquiry.work.waiting {
                answer = await verification.queries.transactionHistory(
                    of: finish.transaction, filter, page: page, context)
            }
            switch answer {
            case .answered(let read):
                told += read.transactions
                page = read.next
            // Apple refused a page after the first, so the history is incomplete. The next try starts again at the
            // first page.
            case .notFound where page != nil, .refused where page != nil:
                return .undecided(AppleAnswer.Trouble(.status))
            // Apple knew the account of a held purchase before, so receiptd does not believe this answer.
            case .notFound where inquiry.isAskedAgain: return .undecided(AppleAnswer.Trouble(.status))
            case .notFound, .refused: page = nil
            case .trouble, .blocked: return answer.judgement
            }
            guard page == nil else { continue }
            further.history = told
            further.noteRevocations(
                in: told.lazy.filter { $0.bundleID == context.bundleID && $0.environment == context.environment })
            return nil
        }
        // The history has further pages. A purchase that was not found may be on such a page.
        return .undecided(AppleAnswer.Trouble(.longHistory))
    }
}

private struct LookUp: Sendable {
    let transaction: StoreTransactionID
    let answer: StoreQueryAnswer<NotifiedTransaction>

    /// Passes Apple's answer to `note`. Returns nil if Apple answered for this transaction, otherwise the judgement.
    func tell(_ context: StoreQueryContext, to note: (StoreTransactionID, StorePurchase?) -> Void) -> Judgement? {
        switch answer {
        case .answered(let told):
            guard told.bundleID == context.bundleID, told.environment == context.environment,
                told.purchase.transactionID == transaction
            else { return .undecided(AppleAnswer.Trouble(.unproven)) }
            note(transaction, told.purchase)
        case .notFound, .refused: note(transaction, nil)
        case .trouble, .blocked: return answer.judgement
        }
        return nil
    }
}

extension RecallQuery {
    /// Looks for one transaction in the ledger, as if for a receipt that has only this transaction.
    fileprivate convenience init(
        lookingFor transaction: StoreTransactionID, at position: RecordPosition, claimant: PlayerID?
    ) {
        let purchase = StorePurchase(
            transactionID: transaction, originalTransactionID: transaction, productID: ProductID(""),
            purchasedAt: position.timestamp)
        self.init(
            position: position, proof: Digest256(hashing: Array("look-up \(transaction.text)".utf8)),
            mayBeRedelivered: false,
            evidence: GenuineReceipt(bundleID: BundleID(""), environment: .production, purchases: [purchase]),
            claimant: claimant)
    }
}
