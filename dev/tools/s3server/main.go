// Command s3server is the Versity S3 gateway over two directories, with the deletes of real S3.
//
// The gateway keeps objects as files and refuses to delete the key "a/" while "a/b" exists. In S3 the two have nothing to
// do with each other, and Hadoop's S3A client deletes the markers of all parent directories after every write: with the
// refusal it retries for minutes.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3err"
	"github.com/versity/versitygw/s3response"
)

// The attribute by which the gateway tells a directory that was stored as an object from one that merely holds objects.
const markerAttribute = "etag"

// S3 copies objects of up to this many bytes in one request.
const largestCopy = 5 << 30

// store is the gateway's file store, except that a directory marker can be deleted while there are objects below it.
type store struct {
	*posix.Posix
	attributes meta.MetadataStorer
}

// DeleteObject removes a key; like S3 it succeeds when there is no such key.
func (s store) DeleteObject(ctx context.Context, input *s3.DeleteObjectInput) (*s3.DeleteObjectOutput, error) {
	output, err := s.Posix.DeleteObject(ctx, input)
	var refused s3err.APIError
	if !errors.As(err, &refused) || refused.Code != s3err.GetAPIError(s3err.ErrDirectoryNotEmpty).Code {
		return output, err
	}
	err = s.attributes.DeleteAttribute(*input.Bucket, *input.Key, markerAttribute)
	if err != nil && !errors.Is(err, meta.ErrNoSuchKey) {
		return nil, err
	}
	return &s3.DeleteObjectOutput{}, nil
}

// DeleteObjects removes many keys and reports on each.
func (s store) DeleteObjects(ctx context.Context, input *s3.DeleteObjectsInput) (s3response.DeleteResult, error) {
	var result s3response.DeleteResult
	for _, object := range input.Delete.Objects {
		output, err := s.DeleteObject(ctx, &s3.DeleteObjectInput{
			Bucket: input.Bucket, Key: object.Key, VersionId: object.VersionId,
		})
		if err != nil {
			result.Error = append(result.Error, s3err.ObjectDeleteError(object.Key, object.VersionId, err))
			continue
		}
		result.Deleted = append(result.Deleted, types.DeletedObject{
			Key: object.Key, VersionId: object.VersionId, DeleteMarker: output.DeleteMarker,
		})
	}
	return result, nil
}

func main() {
	port := flag.String("port", ":9000", "address to listen on")
	region := flag.String("region", "us-east-1", "region to report")
	data := flag.String("data", "/data", "directory of the buckets")
	attributes := flag.String("attributes", "/attributes", "directory of what S3 knows of objects beside their bytes")
	flag.Parse()
	if err := serve(*port, *region, *data, *attributes); err != nil {
		log.Fatal(err)
	}
}

func serve(port, region, data, attributes string) error {
	sidecar, err := meta.NewSideCar(attributes)
	if err != nil {
		return err
	}
	options := posix.PosixOpts{SideCarDir: attributes, Concurrency: 5000, CopyObjectThreshold: largestCopy}
	files, err := posix.New(data, sidecar, options)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return embedgw.RunVersityGW(ctx, store{Posix: files, attributes: sidecar}, &embedgw.Config{
		RootUserAccess:    os.Getenv("ROOT_ACCESS_KEY"),
		RootUserSecret:    os.Getenv("ROOT_SECRET_KEY"),
		Region:            region,
		Ports:             []string{port},
		MaxConnections:    2000,
		MaxRequests:       1000,
		MultipartMaxParts: 10000,
		HealthPath:        "/health",
		KeepAlive:         true,
		Quiet:             true,
	})
}
