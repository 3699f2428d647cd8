import OperationsHTTP

/// The page of sessions, for users who may end them.
struct SessionsPage {
    let sessions: [Sessions.Session]
    let session: Sessions.Session

    var html: String {
        let rows = sessions.map { one in
            let name = HTMLText.shown(one.user.name ?? "")
            let isOwn = one.number == session.number
            let form = """
                <form action="/end-session" method="post">\(ConsolePage.hidden("token", session.token))\
                \(ConsolePage.hidden("number", "\(one.number)"))\
                <button aria-label="End session \(one.number) of \(name)">End</button></form>
                """
            return [
                isOwn ? "this one" : form, name, one.user.mayChange ? "can make changes" : "read only",
                ShownTime.html(one.beganAt),
            ]
        }
        let heads = ["End", "Name", "Role", "Signed in"].map { ($0, false) }
        return ConsolePage(
            title: "Sessions", place: "/sessions", session: session,
            main: """
                <p>These users are signed in. A session ends by itself after \(Int(Sessions.seconds / 3600)) hours. A user \
                whose session you end can sign in again. To keep a user out, change their line in the users' file and restart the console.</p>
                \(ConsolePage.table("Sessions", heads, rows, none: "Nobody is signed in."))
                """
        ).html
    }
}
