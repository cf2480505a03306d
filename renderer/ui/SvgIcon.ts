import { h, type FunctionalComponent } from 'vue'

/** One path of @mdi/js. Where hundreds are drawn while scrolling, VIcon costs too much. */
const SvgIcon: FunctionalComponent<{ path: string; size?: number }> = ({ path, size = 20 }) =>
  h('svg', { width: size, height: size, viewBox: '0 0 24 24', 'aria-hidden': 'true', focusable: 'false' }, [
    h('path', { d: path, fill: 'currentColor' }),
  ])
SvgIcon.props = { path: { type: String, required: true }, size: { type: Number, required: false, default: 20 } }

export default SvgIcon
