/** JavaScript that the V8 of Electron 25 lacks, as far as the main process and the page use it; `old-runtime.ts` says why. */
export function define(target: object, name: string | symbol, value: unknown): void {
  if (!(name in target)) Object.defineProperty(target, name, { value, configurable: true, writable: true })
}

define(Symbol, 'dispose', Symbol('dispose'))
define(Symbol, 'asyncDispose', Symbol('asyncDispose'))

define(Promise, 'withResolvers', function withResolvers<T>() {
  let resolve!: (value: T) => void
  let reject!: (reason: unknown) => void
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
})

define(URL, 'parse', (text: string, base?: string) => {
  try {
    return new URL(text, base)
  } catch {
    return null
  }
})
define(URL, 'canParse', (text: string, base?: string) => URL.parse(text, base) !== null)

define(AbortSignal, 'any', (signals: readonly AbortSignal[]) => {
  const any = new AbortController()
  for (const signal of signals) {
    if (signal.aborted) any.abort(signal.reason)
    else signal.addEventListener('abort', () => any.abort(signal.reason), { once: true, signal: any.signal })
  }
  return any.signal
})

define(Set.prototype, 'union', function union<T>(this: Set<T>, other: Iterable<T>) {
  return new Set([...this, ...other])
})

const iterators = Object.getPrototypeOf(Object.getPrototypeOf([].values())) as object
define(iterators, 'map', function* map<T, U>(this: Iterable<T>, change: (value: T) => U) {
  for (const value of this) yield change(value)
})
define(iterators, 'filter', function* filter<T>(this: Iterable<T>, keep: (value: T) => boolean) {
  for (const value of this) if (keep(value)) yield value
})
define(iterators, 'toArray', function toArray<T>(this: Iterable<T>) {
  return [...this]
})
for (const name of ['some', 'every', 'find', 'forEach', 'reduce'] as const) {
  define(iterators, name, function viaArray(this: Iterable<unknown>, ...args: unknown[]) {
    return Reflect.apply(Array.prototype[name] as (...args: unknown[]) => unknown, [...this], args)
  })
}

/** The two stacks of the proposal, of which only the functions that our sources call. */
class Stack {
  private readonly ends: (() => unknown)[] = []
  use<T>(value: T): T {
    const owned = value as
      | { [Symbol.asyncDispose]?: () => unknown; [Symbol.dispose]?: () => unknown }
      | null
      | undefined
    const end = owned?.[Symbol.asyncDispose] ?? owned?.[Symbol.dispose]
    if (end) this.ends.push(() => Reflect.apply(end, owned, []))
    return value
  }
  defer(end: () => unknown): void {
    this.ends.push(end)
  }
  adopt<T>(value: T, end: (value: T) => unknown): T {
    this.ends.push(() => end(value))
    return value
  }
  move(): this {
    const next = new (this.constructor as new () => this)()
    next.ends.push(...this.ends.splice(0))
    return next
  }
  async disposeAsync(): Promise<void> {
    for (const end of this.ends.splice(0).reverse()) await end()
  }
  dispose(): void {
    for (const end of this.ends.splice(0).reverse()) end()
  }
}
class AsyncStack extends Stack {
  [Symbol.asyncDispose] = () => this.disposeAsync()
}
class SyncStack extends Stack {
  [Symbol.dispose] = () => this.dispose()
}
define(globalThis, 'AsyncDisposableStack', AsyncStack)
define(globalThis, 'DisposableStack', SyncStack)
