import { h, type FunctionalComponent } from 'vue'

/**
 * An e-mail address or a name such as `host/image:tag`. Where it does not fit its line, it breaks after `@`, `/` or `:`; a browser would
 * break it within a word.
 */
const NameText: FunctionalComponent<{ text: string }> = ({ text }) =>
  text.split(/(?<=[@/:])/).flatMap((part, at) => (at === 0 ? [part] : [h('wbr'), part]))
NameText.props = ['text']

export default NameText
