import { type z } from 'zod'
import { type ApiClient, type TokenScope } from '#manager/contract'

/** How the tools reach the API: as the owner of one access token, over the network or within the manager. */
export interface Reach {
  /** `''` within the manager, else the address of Berth, without a slash at its end. */
  readonly baseUrl: string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** Headers that authenticate a request. */
  readonly credentials: () => Promise<Readonly<Record<string, string>>>
}

/** The API during one call of a tool. */
export interface ToolCall {
  readonly api: ApiClient
  /**
   * A request whose answer is no JSON.
   *
   * @param path with its query, below the address of Berth
   * @throws AppError with the server's code
   */
  readonly raw: (path: string, init: RequestInit) => Promise<Response>
  /** Aborts when the client cancels the call, or has left. */
  readonly signal: AbortSignal
}

/** A tool as clients see it. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** Scope that a token needs to see and call it; the API checks each request again. */
  readonly scope: TokenScope
  readonly input: z.ZodObject
  readonly hints: {
    readonly readOnlyHint?: boolean
    readonly destructiveHint?: boolean
    readonly idempotentHint?: boolean
  }
  readonly run: (call: ToolCall, input: unknown) => Promise<Readonly<Record<string, unknown>>>
}

/** Checks a tool's input against its schema's type; `run` gets what the schema made of the input. */
export function defineTool<Input extends z.ZodObject>(
  tool: Omit<Tool, 'input' | 'run'> & {
    readonly input: Input
    readonly run: (call: ToolCall, input: z.output<Input>) => Promise<Readonly<Record<string, unknown>>>
  },
): Tool {
  const { run, ...rest } = tool
  return { ...rest, run: (call, input) => run(call, input as z.output<Input>) }
}

export const READS = { readOnlyHint: true } as const
