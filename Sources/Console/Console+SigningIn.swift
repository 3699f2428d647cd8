import HTTPTypes
import Logging
import Operations

extension Console {
    /// Signs a user in. Answers a wrong password late, and counts the try. Logs the typed name only if it is a user's
    /// name.
    func signIn(_ request: ConsoleRequest) async throws -> ConsoleAnswer {
        guard !isForged(request) else {
            return Self.text("This form was not sent by the console.\n", .forbidden)
        }
        let next = Self.next(request.form["next"])
        guard let name = request.form["name"], let password = request.form["password"] else {
            return ConsoleAnswer(
                status: .badRequest, body: SignInPage(next: next, message: "Type your name and your password.").html)
        }
        let origin = passwords.origin(name, mark: request.browserMark)
        guard limit.begin(origin, now: Self.now) else {
            metrics.consoleSignIns.with("refused").increment()
            return ConsoleAnswer(
                status: .tooManyRequests,
                body: SignInPage(next: next, message: "Too many sign-ins are waiting. Try again in a minute.").html,
                retryAfter: 5)
        }
        let begun = ContinuousClock.now
        guard let user = await passwords.user(name, password: password, from: origin) else {
            let seconds = limit.failed(origin, now: Self.now)
            metrics.consoleSignIns.with("wrong").increment()
            logger.warning(
                "somebody typed a wrong name or password at the console",
                [.operatorName: "\(passwords.knows(name) ? name : "unknown")"])
            defer { limit.end(origin, isRight: false) }
            // The delay begins with the check, so the time of the answer does not show whether a user has the name.
            try await Task.sleep(until: begun + .seconds(seconds), clock: .continuous)
            return ConsoleAnswer(
                status: .unauthorized, body: SignInPage(next: next, message: "The name or the password is wrong.").html)
        }
        limit.end(origin, isRight: true)
        metrics.consoleSignIns.with("right").increment()
        logger.info("somebody signed in to the console", [.operatorName: "\(name)"])
        let session = sessions.start(user, now: Self.now)
        var answer = ConsoleAnswer.seeOther(next)
        answer.cookies = [SessionCookie.text(session.id, isSecure: request.isSecure)]
        if case .browser = origin { return answer }
        if let mark = passwords.mark(of: name) {
            answer.cookies.append(BrowserCookie.text(mark, isSecure: request.isSecure))
        }
        return answer
    }

    func signOut(_ request: ConsoleRequest, _ session: Sessions.Session) -> ConsoleAnswer {
        sessions.end(session.id)
        var answer = ConsoleAnswer.seeOther("/sign-in")
        answer.cookies = [SessionCookie.text(nil, isSecure: request.isSecure)]
        return answer
    }
}
