// A small exchange outside of a client's request: it ends however its signal stands.
import { expect, test } from 'vitest'
import { openPost } from '#upstream/http1/post.ts'
import { requestText } from '#upstream/request-text.ts'

test('a signal that is aborted already rejects, and nothing is connected', async () => {
  const post = openPost('http://127.0.0.1:9/models', 'GET')
  const message = { headers: {}, body: '' }
  const reason = new Error('too late')
  const asked = requestText(post, message, AbortSignal.abort(reason), 1_000)
  await expect(asked).rejects.toBe(reason)
})
