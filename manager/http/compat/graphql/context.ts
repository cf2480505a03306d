import { type OwnCalls, type Sender } from '../own-calls.ts'

/** Context of a query, which its resolvers get. */
export interface GraphqlContext {
  readonly calls: OwnCalls
  readonly sender: Sender
}
