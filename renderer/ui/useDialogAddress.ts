import { computed, readonly, ref, shallowRef, watch, type ComputedRef, type Ref, type ShallowRef } from 'vue'
import { type RouteLocationResolved, type Router, useRoute, useRouter } from 'vue-router'
import { stepBack } from './useCloseOnBack.ts'

/** The dialog that a URL names, and the id or name of the thing that it is about. */
export interface AskedDialog<N extends string> {
  readonly name: N
  readonly of: string | undefined
}

/**
 * Dialogs that are part of the URL: `?dialog=share&of=ID`, and above it another dialog: `&over=options&overOf=NAME`. Back closes the
 * innermost dialog, and the URL opens both again elsewhere.
 */
export interface DialogAddress<N extends string> {
  /** Null: none of these dialogs is open. */
  readonly shown: ComputedRef<AskedDialog<N> | null>
  readonly open: (name: N, of?: string) => void
  /** Goes back if the previous page is this one without the dialog; does nothing while none of these dialogs is open. */
  readonly close: () => void
}

/** Routers that are already leaving a dialog. */
const leaving = new WeakSet<Router>()

/** Leaves the URL of a dialog for the one without it: by going back if that is the previous page, so that the history has it once. */
export function leaveDialog(router: Router, without: RouteLocationResolved): void {
  // A navigation takes a moment, in which a dialog may be closed twice, for example by one key that two components handle.
  if (leaving.has(router)) return
  leaving.add(router)
  const stop = router.afterEach(() => {
    leaving.delete(router)
    stop()
  })
  if (router.options.history.state['back'] === without.fullPath) stepBack(router)
  else void router.replace(without)
}

/** @param names dialogs of the component; those of other components are not touched @param key `over`: dialogs above another dialog */
export function useDialogAddress<N extends string>(
  names: readonly N[],
  key: 'dialog' | 'over' = 'dialog',
): DialogAddress<N> {
  const route = useRoute()
  const router = useRouter()
  const ofKey = key === 'over' ? 'overOf' : 'of'
  // Returns the same object while the rest of the query changes, so that a dialog is not rebuilt when another one opens above it.
  const shown = computed((before?: AskedDialog<N> | null) => {
    const name = names.find(known => known === route.query[key])
    if (name === undefined) return null
    const asked = route.query[ofKey]
    const of = typeof asked === 'string' ? asked : undefined
    return before?.name === name && before.of === of ? before : { name, of }
  })
  const withoutDialog = () => {
    const { over: _over, overOf: _overOf, ...below } = route.query
    if (key === 'over') return below
    const { dialog: _dialog, of: _of, ...query } = below
    return query
  }
  return {
    shown,
    open(name, of) {
      void router.push({ query: { ...withoutDialog(), [key]: name, ...(of === undefined ? {} : { [ofKey]: of }) } })
    },
    close() {
      if (!shown.value) return
      leaveDialog(router, router.resolve({ query: withoutDialog() }))
    },
  }
}

/**
 * The thing of the open dialog, looked up once: later changes of the thing neither close the dialog nor change the edited values. The thing
 * is kept while the dialog closes.
 *
 * @param find null: there is no such thing, and the dialog is not shown; undefined: not known yet
 * @returns `ready` is true while a dialog is open whose thing is known, or that needs none
 */
export function useDialogThing<N extends string, T>(
  address: DialogAddress<N>,
  find: (asked: AskedDialog<N>) => T | null | undefined,
): { readonly thing: ShallowRef<T | undefined>; readonly ready: Readonly<Ref<boolean>> } {
  const thing: ShallowRef<T | undefined> = shallowRef()
  const ready = ref(false)
  watch(
    [address.shown, () => address.shown.value && find(address.shown.value)] as const,
    ([asked, found], [before]) => {
      if (asked?.name !== before?.name || asked?.of !== before?.of) ready.value = false
      if (!asked || ready.value) return
      const isGone = asked.of !== undefined && found === null
      const isUnknown = asked.of !== undefined && found === undefined
      if (isGone) address.close()
      if (isGone || isUnknown) return
      thing.value = asked.of === undefined ? undefined : (found ?? undefined)
      ready.value = true
    },
    { immediate: true },
  )
  return { thing, ready: readonly(ready) }
}
