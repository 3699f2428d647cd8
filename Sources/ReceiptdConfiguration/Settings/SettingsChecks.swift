import AppleProofs
import Foundation

/// Converts the text of each setting to its type, and collects the faults.
struct SettingsChecks {
    private let values: [SettingName: SettingsSource.Value]
    private(set) var faults: [SettingsFault] = []
    private(set) var warnings: [SettingsWarning] = []

    init(_ values: [SettingName: SettingsSource.Value]) {
        self.values = values
    }

    func isSet(_ name: SettingName) -> Bool { values[name] != nil }

    mutating func fail(_ name: SettingName, _ message: String) {
        faults.append(SettingsFault(name, message, line: values[name]?.line))
    }

    mutating func warn(_ name: SettingName, _ message: String) {
        warnings.append(SettingsWarning(kind: .value, setting: name.rawValue, message: message))
    }

    /// Sets `target` to the converted value if the setting is set. Adds a fault if `convert` returns nil.
    mutating func read<Value>(
        _ name: SettingName, into target: inout Value, mustBe requirement: String, _ convert: (String) -> Value?
    ) {
        guard let text = values[name]?.text else { return }
        if let value = convert(text) {
            target = value
        } else {
            fail(name, "must be \(requirement)")
        }
    }

    mutating func integer(_ name: SettingName, into target: inout Int, in range: ClosedRange<Int>) {
        let requirement = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        read(name, into: &target, mustBe: requirement + found(name)) { text in
            guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return Int(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Reads a decimal number without a sign and without an exponent.
    mutating func decimal(_ name: SettingName, into target: inout Double, in range: ClosedRange<Double>) {
        let bounds = [range.lowerBound, range.upperBound].map { $0 == $0.rounded() ? "\(Int($0))" : "\($0)" }
        read(name, into: &target, mustBe: "a number from \(bounds[0]) to \(bounds[1])" + found(name)) { text in
            let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
                return nil
            }
            return Double(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Reads one of a few words.
    mutating func choice<Value>(
        _ name: SettingName, into target: inout Value, _ choices: [(word: String, value: Value)]
    ) {
        let words = choices.map(\.word).joined(separator: ", ")
        read(name, into: &target, mustBe: "one of \(words)" + found(name)) { text in
            choices.first { $0.word == text }?.value
        }
    }

    /// Reads an absolute http or https URL. The fault does not contain the text, which could contain a password.
    mutating func url(_ name: SettingName, into target: inout String, isBase: Bool) {
        let requirement = "an absolute http or https URL without user, query and fragment"
        read(name, into: &target, mustBe: requirement) { text in
            guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(),
                ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty,
                url.user == nil, url.password == nil, url.fragment == nil, url.query == nil,
                url.port.map({ (1...65_535).contains($0) }) ?? true,
                text.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7F })
            else { return nil }
            var base = Substring(text)
            while isBase, base.hasSuffix("/") { base.removeLast() }
            return String(base)
        }
        if values[name] != nil, target.lowercased().hasPrefix("http://") {
            warn(
                name,
                "begins with http://, so that receipts and secrets travel unencrypted: Apple's addresses are https")
        }
    }

    /// Reads the path of a file, and adds a fault if the file cannot be read.
    mutating func readableFile(_ name: SettingName, into target: inout String?) {
        guard let path = values[name]?.text else { return }
        do throws(BoundedFile.Fault) {
            _ = try BoundedFile.read(path, limit: 16 * SettingsLimits.fileSize)
            target = path
        } catch {
            fail(name, "the file \(error.message)")
        }
    }

    /// Reads the root certificates in the file at `path`. Adds a fault if that fails.
    mutating func roots(_ name: SettingName, at path: String, into target: inout AppleRoots) {
        let text: String
        do throws(BoundedFile.Fault) {
            text = try BoundedFile.readText(path, limit: 16 * SettingsLimits.fileSize)
        } catch {
            return fail(name, "the file \(error.message)")
        }
        do throws(AppleRoots.Fault) {
            target = try AppleRoots(pem: text)
        } catch {
            fail(name, "the file cannot be used: \(error)")
        }
    }

    private func found(_ name: SettingName) -> String {
        values[name].map { ", not \(ShownText.quoted($0.text))" } ?? ""
    }
}
