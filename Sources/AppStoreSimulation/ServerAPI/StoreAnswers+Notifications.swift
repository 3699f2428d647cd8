import Encodings

extension StoreAnswers {
    /// Returns the number of days that Apple keeps notifications.
    private static func keptDays(_ environment: SimulatedEnvironment) -> Int64 { environment == .sandbox ? 30 : 180 }

    /// Returns a `NotificationHistoryResponse`, oldest first. The pagination token contains the index of the next
    /// notification. The token is valid only with an equal request body.
    func notifications(_ request: ServerAPIRequest) throws -> String {
        let question = try NotificationQuestion(request.body)
        guard question.from >= now - Self.keptDays(environment) * 86_400_000 else {
            throw ServerAPIFault.startDateTooFarInPast
        }
        guard store.apps[bundleID]?.hasNotificationURL ?? true else { throw ServerAPIFault.noNotificationURL }
        let account = try question.transactionID.map { try transaction($0).account }
        var index = try start(request.value("paginationToken"), question)
        var page: [String] = []
        while index < store.notifications.count, page.count < Self.pageSize {
            let kept = store.notifications[index]
            if isAsked(kept, question), account == nil || account == kept.account { page.append(try item(kept)) }
            index += 1
        }
        let hasMore = store.notifications[index...].contains {
            isAsked($0, question) && (account == nil || account == $0.account)
        }
        var answer = ClaimsText()
        if hasMore { answer.add("paginationToken", "p\(index)_\(question.hash)") }
        answer.add("hasMore", hasMore)
        answer.add("notificationHistory", json: "[\(page.joined(separator: ","))]")
        return answer.finished()
    }

    /// Returns a `CheckTestNotificationResponse`.
    func testStatus(_ token: String) throws -> String {
        let kept = store.notifications.last {
            $0.notification.type == "TEST" && $0.notification.bundleID == bundleID
                && $0.notification.environment == environment && $0.testToken == token
        }
        guard let kept else { throw ServerAPIFault.testNotificationNotFound }
        return try item(kept)
    }

    private func isAsked(_ kept: ToldNotification, _ question: NotificationQuestion) -> Bool {
        let notification = kept.notification
        return notification.bundleID == bundleID && notification.environment == environment
            && (question.from...question.until).contains(notification.signedDateMilliseconds)
            && question.type ?? notification.type == notification.type
            && (question.subtype == nil || question.subtype == notification.subtype)
            && !(question.onlyFailures && kept.reachedServer)
    }

    private func start(_ token: String?, _ question: NotificationQuestion) throws -> Int {
        guard let token else { return 0 }
        let parts = token.split(separator: "_")
        guard parts.count == 2, parts[0].hasPrefix("p"), let index = Int(parts[0].dropFirst()),
            (0...store.notifications.count).contains(index), parts[1] == question.hash
        else { throw ServerAPIFault.invalidPaginationToken }
        return index
    }

    /// Returns a `NotificationHistoryResponseItem`.
    private func item(_ kept: ToldNotification) throws -> String {
        let notification = kept.notification
        let signed = (
            transaction: try notification.transaction.map(sign), renewal: try notification.renewal.map(sign)
        )
        let attempts = kept.attempts.map {
            #"{"attemptDate":\#($0.at),"sendAttemptResult":"\#($0.result.rawValue)"}"#
        }
        var item = ClaimsText()
        item.add("signedPayload", try sign(notification.payload(signed)))
        item.add("sendAttempts", json: "[\(attempts.joined(separator: ","))]")
        return item.finished()
    }
}

/// The body of a request to Get Notification History: `NotificationHistoryRequest`.
private struct NotificationQuestion {
    let from: Int64
    let until: Int64
    let type: String?
    let subtype: String?
    let transactionID: String?
    let onlyFailures: Bool
    /// The hash of the request's body. A pagination token with another hash belongs to another request body.
    let hash: String

    init(_ body: [UInt8]) throws {
        guard let value = try? JSONParser.parse(body).value, case .object = value else {
            throw ServerAPIFault.badRequest
        }
        guard let from = value["startDate"]?.milliseconds else { throw ServerAPIFault.invalidStartDate }
        guard let until = value["endDate"]?.milliseconds else { throw ServerAPIFault.invalidEndDate }
        guard from < until else { throw ServerAPIFault.startDateAfterEndDate }
        self.from = from
        self.until = until
        type = value["notificationType"]?.string
        subtype = value["notificationSubtype"]?.string
        transactionID = value["transactionId"]?.string
        onlyFailures = value["onlyFailures"] == .bool(true)
        if type != nil, transactionID != nil { throw ServerAPIFault.multipleFilters }
        hash = ReceiptHash.hexadecimal(ReceiptHash.hash(String(decoding: body, as: UTF8.self)))
    }
}

extension JSONValue {
    fileprivate var milliseconds: Int64? {
        guard case .number(let text) = self else { return nil }
        return Int64(text)
    }
}
