import AppStoreSimulation
import ArgumentParser
import Foundation

struct Transaction: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the JWS of a StoreKit 2 transaction. Give its claims on standard input, as a JSON object.")

    @Option(help: "The folder of the keys and certificates to sign with, such as seeds/signing.")
    var signWith: String

    func run() throws {
        let claims = FileHandle.standardInput.readDataToEndOfFile()
        guard (try? JSONSerialization.jsonObject(with: claims)) is [String: Any] else {
            throw ValidationError("standard input is not a JSON object")
        }
        print(try SimulatedSigner(folder: signWith).signedTransaction(claims: String(decoding: claims, as: UTF8.self)))
    }
}
