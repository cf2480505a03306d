import { parseJson } from '#base/parse-json'
import { type AllowedOptions, type App, type AppOptions } from '#manager/contract'

/** An argument or variable in the dialog. Only a checked argument is passed; otherwise the app uses its own value. */
export interface OptionRow {
  readonly name: string
  used: boolean
  value: string
}

export interface OptionsForm {
  readonly arguments: OptionRow[]
  readonly environment: OptionRow[]
}

const LOGDIR = '--logdir'
/** Directory that the dialog of TensorBoard proposes if neither the image nor an earlier start names one. */
const LOGS = '/home/work/logs'

export const isTensorBoard = ({ name }: Pick<App, 'name'>) => /tensorboard/.test(name)
export const isLogDirectory = (row: Pick<OptionRow, 'name'>) => row.name === LOGDIR

/**
 * The options that an app takes. Images made for Backend.AI declare them in a file that only the agent reads; TensorBoard takes a log
 * directory in each of them.
 *
 * @returns undefined if the app takes none, as far as the page knows
 */
export function allowedOf(app: App): AllowedOptions | undefined {
  const { allowedOptions } = app
  if (allowedOptions)
    return allowedOptions.arguments.length + allowedOptions.environment.length > 0 ? allowedOptions : undefined
  return isTensorBoard(app) ? { arguments: [LOGDIR], environment: [], defaults: { [LOGDIR]: LOGS } } : undefined
}

/** The form of the dialog: the remembered choice, or else the defaults of the image. */
export function formOf(allowed: AllowedOptions, remembered: AppOptions | undefined): OptionsForm {
  const { defaults } = allowed
  const chosen = remembered?.arguments ?? defaults
  return {
    arguments: allowed.arguments.map(name => ({
      name,
      used: Object.hasOwn(chosen, name),
      value: chosen[name] ?? defaults[name] ?? '',
    })),
    environment: allowed.environment.map(name => ({ name, used: false, value: '' })),
  }
}

export function optionsOf(form: OptionsForm): AppOptions {
  const pairs = (rows: readonly OptionRow[]) => Object.fromEntries(rows.map(({ name, value }) => [name, value.trim()]))
  return {
    arguments: pairs(form.arguments.filter(({ used }) => used)),
    environment: pairs(form.environment.filter(({ value }) => value.trim() !== '')),
  }
}

const KEY = 'berth.app-options'
const MOST = 100
const placeOf = (image: string, app: string) => `${image} ${app}`

function readAll(storage: Storage): Record<string, unknown> {
  const kept = parseJson(storage.getItem(KEY) ?? '{}')
  return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {}
}

/** Stores the arguments per image and app. Values of variables are left out: they often hold keys. */
export function rememberOptions(
  image: string,
  app: string,
  options: AppOptions,
  storage: Storage = localStorage,
): void {
  const { [placeOf(image, app)]: _, ...others } = readAll(storage)
  const entries = [...Object.entries(others), [placeOf(image, app), { arguments: options.arguments }] as const]
  storage.setItem(KEY, JSON.stringify(Object.fromEntries(entries.slice(-MOST))))
}

export function recallOptions(image: string, app: string, storage: Storage = localStorage): AppOptions | undefined {
  const kept = readAll(storage)[placeOf(image, app)]
  const chosen = typeof kept === 'object' && kept !== null && 'arguments' in kept ? kept.arguments : undefined
  return isTexts(chosen) ? { arguments: chosen, environment: {} } : undefined
}

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every(text => typeof text === 'string')
