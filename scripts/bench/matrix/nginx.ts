/** nginx as a proxy of one process, with connections kept open to both sides. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, type Measured, startAt } from '../process.ts'
import { MEASURED_CORE } from '../rig.ts'

/** Its configuration and whatever it writes lie in the directory. */
export function startNginx(dir: string, mock: Measured): Promise<Measured> {
  const port = freePort()
  const file = join(dir, 'nginx.conf')
  writeFileSync(file, configure(port, new URL(mock.origin).host, dir))
  return startAt(
    port,
    ['nginx', '-p', dir, '-e', join(dir, 'nginx.log'), '-c', file],
    MEASURED_CORE,
  )
}

const configure = (port: number, upstream: string, dir: string): string => `
daemon off;
master_process off;
pid ${dir}/nginx.pid;
events { worker_connections 16000; }
http {
  access_log off;
  client_body_temp_path ${dir}/body;
  proxy_temp_path ${dir}/proxy;
  fastcgi_temp_path ${dir}/fastcgi;
  uwsgi_temp_path ${dir}/uwsgi;
  scgi_temp_path ${dir}/scgi;
  client_max_body_size 64m;
  client_body_buffer_size 256k;
  keepalive_requests 10000000;
  keepalive_timeout 300s;
  upstream mock { server ${upstream}; keepalive 1024; keepalive_requests 10000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_read_timeout 300s;
    }
  }
}
`
