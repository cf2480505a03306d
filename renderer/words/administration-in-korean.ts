import { type Messages } from './message-types.ts'

/** The Korean texts of the pages of administration: one file, loaded with the first of these pages. */
const files = import.meta.glob<Messages>('./ko/admin*.ts', { eager: true, import: 'default' })

export default Object.fromEntries(
  Object.entries(files).map(([path, messages]) => [path.replace(/^\.\/ko\/(.*)\.ts$/, '$1'), messages]),
)
