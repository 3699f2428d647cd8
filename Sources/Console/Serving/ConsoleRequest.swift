import Foundation
import HTTPTypes
import Hummingbird

struct ConsoleRequest: Sendable {
    static let maximumBodyBytes = 64 * 1024

    let method: HTTPRequest.Method
    let path: String
    let query: [String: String]
    let form: [String: String]
    let host: String?
    let origin: String?
    let fetchSite: String?
    let sessionID: String?
    /// The value of `BrowserCookie`. A browser has this cookie once a user has signed in with the browser.
    let browserMark: String?
    /// True if the proxy in front of the console says that the request came over TLS.
    let isSecure: Bool

    enum Fault: Error {
        /// The query or the form cannot be parsed.
        case unreadable
        case tooLarge
    }

    init(_ request: Request) async throws {
        method = request.method
        path = request.uri.path
        query = try Self.fields(request.uri.query ?? "")
        // In HTTP/1.1 the authority is the `Host` header.
        host = request.head.authority
        origin = request.headers[.origin]
        fetchSite = HTTPField.Name("Sec-Fetch-Site").flatMap { request.headers[$0] }
        sessionID = request.cookies[SessionCookie.name]?.value
        browserMark = request.cookies[BrowserCookie.name]?.value
        isSecure = HTTPField.Name("X-Forwarded-Proto").flatMap { request.headers[$0] }?.lowercased() == "https"
        var body: [UInt8] = []
        if request.method == .post {
            for try await part in request.body {
                guard body.count + part.readableBytes <= Self.maximumBodyBytes else { throw Fault.tooLarge }
                body.append(contentsOf: part.readableBytesView)
            }
        }
        form = try Self.fields(String(decoding: body, as: UTF8.self))
    }

    private static func fields(_ text: String) throws -> [String: String] {
        guard !text.isEmpty else { return [:] }
        do {
            return try URLEncodedFormDecoder().decode([String: String].self, from: text)
        } catch {
            throw Fault.unreadable
        }
    }
}

/// The cookie with the session of a signed-in user.
enum SessionCookie {
    static let name = "receiptd_console"

    /// - Parameter id: the session's id; nil makes the browser delete the cookie.
    static func text(_ id: String?, isSecure: Bool) -> String {
        "\(name)=\(id ?? ""); Path=/; HttpOnly; SameSite=Lax" + (isSecure ? "; Secure" : "")
            + (id == nil ? "; Max-Age=0" : "")
    }
}

/// The cookie by which the console recognises a browser with which a user has signed in.
enum BrowserCookie {
    static let name = "receiptd_console_browser"
    private static let seconds = 365 * 86_400

    static func text(_ mark: BrowserMark, isSecure: Bool) -> String {
        "\(name)=\(mark.text); Path=/sign-in; HttpOnly; SameSite=Lax; Max-Age=\(seconds)" + (isSecure ? "; Secure" : "")
    }
}
