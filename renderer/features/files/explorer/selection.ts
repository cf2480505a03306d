/**
 * Selection in a list of files: which names are selected, where the focus is, and where a range begins. Pure: each function
 * returns the next state. Names identify files, because positions change when the list is refreshed.
 */
export interface Selection {
  readonly names: ReadonlySet<string>
  /** The file that has the focus; keys act on it. */
  readonly focus: string | null
  /** The fixed end of a range that Shift selects. */
  readonly anchor: string | null
}

export const NOTHING: Selection = { names: new Set(), focus: null, anchor: null }

/** The loaded part of the list. */
export interface Rows {
  readonly count: number
  nameAt(index: number): string | undefined
  indexOf(name: string): number
}

export function selectOnly(name: string): Selection {
  return { names: new Set([name]), focus: name, anchor: name }
}

/** Ctrl+click and the checkbox: adds the file, or takes it out. */
export function toggle(selection: Selection, name: string): Selection {
  const names = new Set(selection.names)
  if (!names.delete(name)) names.add(name)
  return { names, focus: name, anchor: name }
}

/** Shift+click and Shift+arrow: selects from the anchor to the file, replacing the selection (`add`: extending it). */
export function selectRange(selection: Selection, rows: Rows, name: string, add = false): Selection {
  const anchor = selection.anchor ?? selection.focus ?? name
  const from = rows.indexOf(anchor)
  const to = rows.indexOf(name)
  if (from === -1 || to === -1) return selectOnly(name)
  const names = new Set(add ? selection.names : [])
  for (let index = Math.min(from, to); index <= Math.max(from, to); index++) {
    const at = rows.nameAt(index)
    if (at !== undefined) names.add(at)
  }
  return { names, focus: name, anchor }
}

export function selectAll(selection: Selection, rows: Rows): Selection {
  const names = new Set<string>()
  for (let index = 0; index < rows.count; index++) {
    const at = rows.nameAt(index)
    if (at !== undefined) names.add(at)
  }
  return { ...selection, names }
}

export function clear(selection: Selection): Selection {
  return { ...selection, names: new Set() }
}

/** Arrow keys, Home and End: moves the focus by `step` rows and selects that file alone, or the range with Shift. */
export function moveFocus(selection: Selection, rows: Rows, step: number, extend: boolean): Selection {
  if (rows.count === 0) return selection
  const here = selection.focus === null ? -1 : rows.indexOf(selection.focus)
  const wanted = here === -1 ? (step > 0 ? step - 1 : rows.count + step) : here + step
  const name = rows.nameAt(Math.max(0, Math.min(rows.count - 1, wanted)))
  if (name === undefined) return selection
  return extend ? selectRange(selection, rows, name) : selectOnly(name)
}

/** Drops names that the refreshed list does not have. @param gone whether a name is known to be gone */
export function without(selection: Selection, gone: (name: string) => boolean): Selection {
  const names = new Set([...selection.names].filter(name => !gone(name)))
  const keep = (name: string | null) => (name !== null && gone(name) ? null : name)
  if (names.size === selection.names.size && keep(selection.focus) === selection.focus) return selection
  return { names, focus: keep(selection.focus), anchor: keep(selection.anchor) }
}

/** Files that an action is about: the selected ones, else the one in focus. */
export function subjectsOf(selection: Selection): string[] {
  if (selection.names.size > 0) return [...selection.names]
  return selection.focus === null ? [] : [selection.focus]
}
