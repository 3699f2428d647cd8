import OperationsHTTP

struct SignInPage {
    var next = "/"
    var message: String?

    var html: String {
        let told = message.map { "<p class=\"message\" role=\"alert\">\(HTMLText.escaped($0))</p>" } ?? ""
        return ConsolePage(
            title: "Sign in", session: nil,
            main: """
                \(told)<form class="column" action="/sign-in" method="post">\(ConsolePage.hidden("next", next))
                <label for="name">Name</label>
                <input id="name" name="name" required autocomplete="username" autocapitalize="off" spellcheck="false">
                <label for="password">Password</label>
                <input id="password" name="password" type="password" required autocomplete="current-password">
                <button>Sign in</button></form>
                """
        ).html
    }
}
