import NamesAndTimes
import OperationsHTTP

/// A page of the console: one HTML document without a script.
struct ConsolePage {
    /// The pages to which every page links.
    static let places: [(path: String, title: String)] = [
        ("/", "Traffic"), ("/held", "Held"), ("/parked", "Parked"), ("/unclaimed", "Unclaimed"),
        ("/dead-letters", "Dead letters"), ("/subscriptions", "Subscriptions"), ("/refunds", "Refunds"),
        ("/changes", "Changes"),
    ]
    /// The further pages to which every page links if the signed-in user may make changes.
    static let operatorsPlaces: [(path: String, title: String)] = [("/sessions", "Sessions")]

    let title: String
    /// The page's path in `places`; empty if `places` does not have the page.
    var place = ""
    var searched = ""
    /// The session; nil if nobody is signed in.
    let session: Sessions.Session?
    let main: String

    var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="/style.css">
        <title>\(HTMLText.shown(title)) – receiptd</title>
        </head>
        <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header><p class="name">receiptd <small>console</small></p>\(account)</header>
        \(navigation)
        <main id="main">
        <h1>\(HTMLText.shown(title))</h1>
        \(main)
        </main>
        <footer>All times are UTC.</footer>
        </body>
        </html>

        """
    }

    private var navigation: String {
        guard let session else { return "" }
        let links = (Self.places + (session.user.mayChange ? Self.operatorsPlaces : [])).map { path, title in
            "<li><a href=\"\(path)\"\(path == place ? " aria-current=\"page\"" : "")>\(title)</a></li>"
        }
        return """
            <form class="search" role="search" action="/search" method="get">
            <label for="q">Id of a submission, order, transaction, event or player</label>
            <input id="q" name="q" type="search" required maxlength="\(SearchLimits.maximumID)" autocomplete="off" \
            spellcheck="false" value="\(HTMLText.escaped(searched))">
            <button>Search</button></form>
            <nav aria-label="Pages"><ul>\(links.joined())</ul></nav>
            """
    }

    private var account: String {
        guard let session else { return "" }
        guard let name = session.user.name else { return "<p>No users are set up: this console changes nothing</p>" }
        let role = session.user.mayChange ? "can make changes" : "read only"
        return """
            <form class="account" action="/sign-out" method="post">\(Self.hidden("token", session.token))\
            <span>\(HTMLText.shown(name)), \(role)</span> <button>Sign out</button></form>
            """
    }

    static func hidden(_ name: String, _ value: String) -> String {
        "<input type=\"hidden\" name=\"\(HTMLText.escaped(name))\" value=\"\(HTMLText.escaped(value))\">"
    }

    /// Returns `/path?a=b`. Before the caller writes the address into an attribute, it must escape the address with
    /// `HTMLText.escaped`.
    static func address(_ path: String, _ fields: [(String, String)]) -> String {
        guard !fields.isEmpty else { return path }
        return path + "?" + fields.map { "\(encoded($0.0))=\(encoded($0.1))" }.joined(separator: "&")
    }

    private static func encoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E:
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
        return encoded
    }

    static func link(_ text: String, to address: String) -> String {
        "<a href=\"\(HTMLText.escaped(address))\">\(HTMLText.shown(text))</a>"
    }

    /// The most characters of a text that the browser never breaks across lines. The usual ids are shorter.
    private static let longestWord = 40

    /// Returns the text as HTML. If the text has no white space and at most `longestWord` characters, the browser never
    /// breaks the text, even at a hyphen.
    static func word(_ text: String) -> String {
        let shown = HTMLText.shown(text)
        let isWord = text.count <= longestWord && !text.contains(where: \.isWhitespace)
        return isWord && !text.isEmpty ? "<span class=\"word\">\(shown)</span>" : shown
    }

    /// Returns the text of a cell as HTML. If the text is a time, the cell shows a short form, and the exact time is in
    /// the element's title.
    static func cell(_ text: String) -> String {
        guard (20...35).contains(text.utf8.count), let time = Timestamp(rfc3339: text) else { return word(text) }
        return ShownTime.html(time)
    }

    /// Returns a link to the page on which the operator confirms the change.
    static func button(_ change: ConsoleChange, id: String) -> String {
        let address = address("/confirm", [("change", change.rawValue), ("id", id)])
        // A screen reader may list the links without their rows, so each link's label contains the id.
        return "<a class=\"button\(change.isFinal ? " danger" : "")\" href=\"\(HTMLText.escaped(address))\" "
            + "aria-label=\"\(change.title) \(HTMLText.shown(id))\">\(change.title)</a>"
    }

    /// Returns a table as HTML. If the table is wider than the page, the reader can scroll only the table, also with
    /// the keyboard. On a phone each row is a card.
    /// - Parameters:
    ///   - heads: the name of each column, and true if the column has numbers.
    ///   - rows: the cells as HTML.
    ///   - none: the text of the paragraph that replaces a table without rows.
    static func table(_ caption: String, _ heads: [(String, Bool)], _ rows: [[String]], none: String) -> String {
        guard !rows.isEmpty else { return "<p>\(HTMLText.shown(none))</p>" }
        func cells(_ tag: String, _ cells: [String]) -> String {
            zip(cells, heads).map { cell, head in
                "<\(tag)\(head.1 ? " class=\"n\"" : "")"
                    + (tag == "th" ? " scope=\"col\"" : " data-label=\"\(HTMLText.shown(head.0))\"")
                    + ">\(cell)</\(tag)>"
            }.joined()
        }
        let body = rows.map { "<tr>\(cells("td", $0))</tr>" }.joined(separator: "\n")
        return """
            <div class="wide" role="region" tabindex="0" aria-label="\(HTMLText.shown(caption))"><table>\
            <caption>\(HTMLText.shown(caption))</caption>\
            <thead><tr>\(cells("th", heads.map { HTMLText.shown($0.0) }))</tr></thead>
            <tbody>\(body)</tbody></table></div>
            """
    }
}
